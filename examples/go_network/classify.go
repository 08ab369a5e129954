// Runs a network on one row of numbers and prints the largest of its results: classify NETWORK.rart NUMBERS...
package main

// #cgo pkg-config: relay-runtime
// #include <stdlib.h>
// #include <relay/runtime/relay_c.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

// check must run on the thread of the call that it checks: the text of a failure belongs to that thread.
func check(status C.relay_status) error {
	if status == C.RELAY_OK {
		return nil
	}
	return errors.New(C.GoString(C.relay_last_error()))
}

// run passes one row of numbers to the model in a file, and returns its first result.
func run(path string, row []float32) ([]float32, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var model *C.relay_model
	if err := check(C.relay_model_load(name, nil, &model)); err != nil {
		return nil, err
	}
	defer C.relay_model_free(model)

	// C keeps no pointers to Go's memory: the row and its shape are copied.
	bytes := C.size_t(4 * (len(row) + 1))
	data, shape := C.malloc(bytes), (*[2]C.int64_t)(C.malloc(16))
	defer C.free(data)
	defer C.free(unsafe.Pointer(shape))
	copy(unsafe.Slice((*float32)(data), len(row)), row)
	*shape = [2]C.int64_t{1, C.int64_t(len(row))}
	in := C.relay_tensor{data: data, shape: &shape[0], rank: 2, dtype: C.RELAY_FLOAT32}
	var out C.relay_tensor
	if err := check(C.relay_model_run(model, &in, 1, &out, 1)); err != nil {
		return nil, err
	}
	defer C.relay_tensor_release(&out)
	if out.dtype != C.RELAY_FLOAT32 || out.rank != 2 {
		return nil, errors.New("the result is not a matrix of float32")
	}
	count := int(unsafe.Slice(out.shape, 2)[1])
	return append([]float32(nil), unsafe.Slice((*float32)(out.data), count)...), nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: classify NETWORK.rart NUMBERS...")
		os.Exit(2)
	}
	var row []float32
	for _, word := range os.Args[2:] {
		number, err := strconv.ParseFloat(word, 32)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		row = append(row, float32(number))
	}
	scores, err := run(os.Args[1], row)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	best := 0
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	fmt.Printf("class %d of %d\n", best, len(scores))
}
