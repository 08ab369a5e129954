//! The part of the C interface of the Relay runtime (relay_c.h) that runs a network of float32 tensors: declarations,
//! and an owner that releases what the runtime allocates.

use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr;

#[repr(C)]
struct RawModel {
    _private: [u8; 0],
}

#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    shape: *const i64,
    rank: i32,
    dtype: i32,
    owner: *mut c_void,
}

#[repr(C)]
struct LoadOptions {
    struct_bytes: u32,
    threads: i32,
}

const FLOAT32: i32 = 0;

#[link(name = "relay_runtime")]
extern "C" {
    fn relay_last_error() -> *const c_char;
    fn relay_model_load(path: *const c_char, options: *const LoadOptions, model: *mut *mut RawModel) -> i32;
    fn relay_model_free(model: *mut RawModel);
    fn relay_model_output_count(model: *const RawModel) -> usize;
    fn relay_model_run(
        model: *mut RawModel,
        inputs: *const RawTensor,
        input_count: usize,
        outputs: *mut RawTensor,
        output_count: usize,
    ) -> i32;
    fn relay_tensor_release(tensor: *mut RawTensor);
}

fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // The text belongs to the calling thread until its next failure.
    Err(unsafe { CStr::from_ptr(relay_last_error()) }.to_string_lossy().into_owned())
}

/// A compiled model. Several threads may run it at once.
pub struct Model(*mut RawModel);

unsafe impl Send for Model {}
unsafe impl Sync for Model {}

/// A dense array of float32, row by row.
pub struct Tensor {
    pub values: Vec<f32>,
    pub shape: Vec<i64>,
}

impl Model {
    /// `threads`: at most; 0 for all cores that this process may use.
    pub fn load(path: &str, threads: i32) -> Result<Model, String> {
        let path = CString::new(path).map_err(|_| "the path has a zero byte".to_string())?;
        let options = LoadOptions { struct_bytes: std::mem::size_of::<LoadOptions>() as u32, threads };
        let mut model = ptr::null_mut();
        check(unsafe { relay_model_load(path.as_ptr(), &options, &mut model) })?;
        Ok(Model(model))
    }

    pub fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let mut raw = Vec::new();
        for tensor in inputs {
            if tensor.values.len() as i64 != tensor.shape.iter().product::<i64>() {
                return Err(format!("{} values do not fit the shape {:?}", tensor.values.len(), tensor.shape));
            }
            raw.push(RawTensor {
                data: tensor.values.as_ptr() as *mut c_void,
                shape: tensor.shape.as_ptr(),
                rank: tensor.shape.len() as i32,
                dtype: FLOAT32,
                owner: ptr::null_mut(),
            });
        }
        let empty = || RawTensor { data: ptr::null_mut(), shape: ptr::null(), rank: 0, dtype: 0, owner: ptr::null_mut() };
        let mut results: Vec<RawTensor> = (0..unsafe { relay_model_output_count(self.0) }).map(|_| empty()).collect();
        check(unsafe { relay_model_run(self.0, raw.as_ptr(), raw.len(), results.as_mut_ptr(), results.len()) })?;
        results.iter_mut().map(take).collect()
    }
}

/// Copies a result, and releases it.
fn take(raw: &mut RawTensor) -> Result<Tensor, String> {
    let result = if raw.dtype != FLOAT32 {
        Err("a result is not float32".to_string())
    } else {
        let shape = match raw.rank {
            0 => Vec::new(),
            rank => unsafe { std::slice::from_raw_parts(raw.shape, rank as usize) }.to_vec(),
        };
        let count = shape.iter().product::<i64>() as usize;
        let values = match count {
            0 => Vec::new(),
            count => unsafe { std::slice::from_raw_parts(raw.data as *const f32, count) }.to_vec(),
        };
        Ok(Tensor { values, shape })
    };
    unsafe { relay_tensor_release(raw) };
    result
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { relay_model_free(self.0) }
    }
}
