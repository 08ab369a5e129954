"""The options of layers, as Keras 3.15 and tf-keras 2.21 have them.

A file of a newer Keras may have others, whose meaning is not known: a layer is refused if one of them is set.
"""

from __future__ import annotations

import re

from ..shared.listed import names_by_first

KNOWN = (3, 15)  # the newest Keras whose options are listed
# Options of any layer, and those that matter for training only.
_OF_ALL = frozenset({
    "name", "trainable", "dtype", "activity_regularizer", "autocast", "seed", "lora_rank", "lora_alpha",
    "quantization_config", "input_shape", "input_length", "input_dim", "batch_input_shape", "batch_shape", "sparse",
    "ragged",
})  # fmt: skip
_OF_TRAINING = re.compile(".*_(constraint|initializer|regularizer)")

_TEXT = """
Activation: activation
ActivityRegularization: l1 l2
AdaptiveAveragePooling1D: data_format output_size
AdaptiveAveragePooling2D: data_format output_size
AdaptiveAveragePooling3D: data_format output_size
AdaptiveMaxPooling1D: data_format output_size
AdaptiveMaxPooling2D: data_format output_size
AdaptiveMaxPooling3D: data_format output_size
AdditiveAttention: dropout force_generator rng_type score_mode use_scale
AlphaDropout: force_generator noise_shape rate rng_type
Attention: dropout force_generator rng_type score_mode use_scale
AugMix: all_ops alpha bounding_box_format chain_depth data_format factor interpolation num_chains value_range
AutoContrast: bounding_box_format data_format factor value_range
AveragePooling1D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
AveragePooling2D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
AveragePooling3D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
AvgPool1D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
AvgPool2D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
AvgPool3D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
BatchNormalization: adjustment axis center epsilon fused momentum renorm renorm_clipping renorm_momentum scale
    synchronized virtual_batch_size
Bidirectional: backward_layer layer merge_mode weights
CategoryEncoding: num_tokens output_mode
CenterCrop: bounding_box_format data_format factor height width
Concatenate: axis
ContrastLimitedAdaptiveHistogramEqualization: bounding_box_format clip_limit data_format factor tile_grid_size
    value_range
Conv1D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Conv1DTranspose: activation conv_op data_format dilation_rate filters groups kernel_size output_padding padding rank
    strides use_bias
Conv2D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Conv2DTranspose: activation conv_op data_format dilation_rate filters groups kernel_size output_padding padding rank
    strides use_bias
Conv3D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Conv3DTranspose: activation conv_op data_format dilation_rate filters groups kernel_size output_padding padding rank
    strides use_bias
ConvLSTM1D: activation cell data_format dilation_rate dropout filters go_backwards kernel_size padding rank
    recurrent_activation recurrent_dropout return_sequences return_state stateful strides time_major
    unit_forget_bias unroll use_bias zero_output_for_mask
ConvLSTM2D: activation cell data_format dilation_rate dropout filters go_backwards kernel_size padding rank
    recurrent_activation recurrent_dropout return_sequences return_state stateful strides time_major
    unit_forget_bias unroll use_bias zero_output_for_mask
ConvLSTM3D: activation cell data_format dilation_rate dropout filters go_backwards kernel_size padding rank
    recurrent_activation recurrent_dropout return_sequences return_state stateful strides time_major
    unit_forget_bias unroll use_bias zero_output_for_mask
Convolution1D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Convolution2D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Convolution2DTranspose: activation conv_op data_format dilation_rate filters groups kernel_size output_padding
    padding rank strides use_bias
Convolution3D: activation conv_op data_format dilation_rate filters groups kernel_size padding rank strides use_bias
Convolution3DTranspose: activation conv_op data_format dilation_rate filters groups kernel_size output_padding
    padding rank strides use_bias
Cropping1D: cropping
Cropping2D: cropping data_format
Cropping3D: cropping data_format
CutMix: bounding_box_format data_format factor
Dense: activation units use_bias
DepthwiseConv1D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size padding
    rank strides use_bias
DepthwiseConv2D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size padding
    rank strides use_bias
Discretization: bin_boundaries epsilon num_bins output_mode
Dot: axes normalize
Dropout: force_generator noise_shape rate rng_type
ELU: alpha
EinsumDense: activation bias_axes equation gptq_unpacked_column_size output_shape
Embedding: mask_zero output_dim weights
Equalization: bins bounding_box_format data_format factor value_range
Flatten: data_format
GRU: activation cell dropout force_generator go_backwards recurrent_activation recurrent_dropout reset_after
    return_sequences return_state rng_type stateful time_major units unroll use_bias use_cudnn zero_output_for_mask
GRUCell: activation dropout force_generator recurrent_activation recurrent_dropout reset_after rng_type units
    use_bias
GaussianDropout: force_generator rate rng_type
GaussianNoise: force_generator rng_type stddev
GlobalAveragePooling1D: data_format keepdims pool_dimensions
GlobalAveragePooling2D: data_format keepdims pool_dimensions
GlobalAveragePooling3D: data_format keepdims pool_dimensions
GlobalAvgPool1D: data_format keepdims pool_dimensions
GlobalAvgPool2D: data_format keepdims pool_dimensions
GlobalAvgPool3D: data_format keepdims pool_dimensions
GlobalMaxPool1D: data_format keepdims pool_dimensions
GlobalMaxPool2D: data_format keepdims pool_dimensions
GlobalMaxPool3D: data_format keepdims pool_dimensions
GlobalMaxPooling1D: data_format keepdims pool_dimensions
GlobalMaxPooling2D: data_format keepdims pool_dimensions
GlobalMaxPooling3D: data_format keepdims pool_dimensions
GroupNormalization: axis center epsilon groups scale
GroupQueryAttention: dropout flash_attention head_dim num_key_value_heads num_query_heads sliding_window use_bias
    use_gate
InputLayer: batch_size input_tensor optional shape type_spec
IntegerLookup: idf_weights invert mask_token max_tokens num_oov_indices oov_method oov_token output_mode
    pad_to_max_tokens salt vocabulary vocabulary_dtype
LSTM: activation cell dropout force_generator go_backwards recurrent_activation recurrent_dropout return_sequences
    return_state rng_type stateful time_major unit_forget_bias units unroll use_bias use_cudnn zero_output_for_mask
LSTMCell: activation dropout force_generator recurrent_activation recurrent_dropout rng_type unit_forget_bias units
    use_bias
Lambda: arguments function mask output_shape
LayerNormalization: axis center epsilon scale
LeakyReLU: alpha negative_slope
Masking: mask_value
MaxNumBoundingBoxes: bounding_box_format data_format factor fill_value max_number
MaxPool1D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MaxPool2D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MaxPool3D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MaxPooling1D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MaxPooling2D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MaxPooling3D: data_format padding pool_dimensions pool_function pool_mode pool_size strides
MelSpectrogram: fft_length mag_exp max_freq min_freq min_power num_mel_bins power_to_db ref_power sampling_rate
    sequence_length sequence_stride top_db window
MixUp: alpha bounding_box_format data_format factor
MultiHeadAttention: attention_axes dropout flash_attention key_dim num_heads output_shape sliding_window
    softmax_robust_masking use_bias use_gate value_dim
Normalization: axis invert mean variance
PReLU: shared_axes
Permute: dims
Pipeline: layers
RMSNormalization: axis epsilon
RNN: cell go_backwards return_sequences return_state stateful time_major unroll zero_output_for_mask
RandAugment: bounding_box_format data_format factor interpolation num_ops value_range
RandomBrightness: bounding_box_format data_format factor force_generator rng_type value_range
RandomColorDegeneration: bounding_box_format data_format factor value_range
RandomColorJitter: bounding_box_format brightness_factor contrast_factor data_format factor hue_factor
    saturation_factor value_range
RandomContrast: bounding_box_format data_format factor force_generator rng_type value_range
RandomCrop: bounding_box_format data_format factor force_generator height rng_type width
RandomElasticTransform: bounding_box_format data_format factor fill_mode fill_value interpolation scale value_range
RandomErasing: bounding_box_format data_format factor fill_value scale value_range
RandomFlip: bounding_box_format data_format factor force_generator mode rng_type
RandomGaussianBlur: bounding_box_format data_format factor kernel_size sigma value_range
RandomGrayscale: bounding_box_format data_format factor
RandomHeight: factor force_generator interpolation rng_type
RandomHue: bounding_box_format data_format factor value_range
RandomInvert: bounding_box_format data_format factor value_range
RandomPerspective: bounding_box_format data_format factor fill_value interpolation scale
RandomPosterization: bounding_box_format data_format factor value_range
RandomRotation: bounding_box_format data_format factor fill_mode fill_value force_generator interpolation rng_type
RandomSaturation: bounding_box_format data_format factor value_range
RandomSharpness: bounding_box_format data_format factor value_range
RandomShear: bounding_box_format data_format factor fill_mode fill_value interpolation x_factor y_factor
RandomTranslation: bounding_box_format data_format factor fill_mode fill_value force_generator height_factor
    interpolation rng_type width_factor
RandomWidth: factor force_generator interpolation rng_type
RandomZoom: bounding_box_format data_format factor fill_mode fill_value force_generator height_factor interpolation
    rng_type width_factor
ReLU: max_value negative_slope threshold
RepeatVector: n
Rescaling: offset scale
Reshape: target_shape
Resizing: antialias bounding_box_format crop_to_aspect_ratio data_format factor fill_mode fill_value height
    interpolation pad_to_aspect_ratio width
ReversibleEmbedding: logit_soft_cap mask_zero output_dim reverse_dtype tie_weights weights
STFTSpectrogram: data_format expand_dims fft_length frame_length frame_step mode padding periodic scaling window
SeparableConv1D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size padding
    rank strides use_bias
SeparableConv2D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size padding
    rank strides use_bias
SeparableConvolution1D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size
    padding rank strides use_bias
SeparableConvolution2D: activation conv_op data_format depth_multiplier dilation_rate filters groups kernel_size
    padding rank strides use_bias
SimpleRNN: activation cell dropout go_backwards recurrent_dropout return_sequences return_state stateful time_major
    units unroll use_bias zero_output_for_mask
SimpleRNNCell: activation dropout force_generator recurrent_dropout rng_type units use_bias
Softmax: axis robust_masking
Solarization: addition_factor bounding_box_format data_format factor threshold_factor value_range
SpatialDropout1D: force_generator noise_shape rate rng_type
SpatialDropout2D: data_format force_generator noise_shape rate rng_type
SpatialDropout3D: data_format force_generator noise_shape rate rng_type
SpectralNormalization: layer power_iterations
StackedRNNCells: cells
StringLookup: encoding idf_weights invert mask_token max_tokens num_oov_indices oov_method oov_token output_mode
    pad_to_max_tokens salt vocabulary vocabulary_dtype
SyncBatchNormalization: adjustment axis center epsilon fused momentum renorm renorm_clipping renorm_momentum scale
    synchronized virtual_batch_size
ThresholdedReLU: theta
TimeDistributed: layer
UnitNormalization: axis
UpSampling1D: size
UpSampling2D: data_format interpolation size
UpSampling3D: data_format size
ZeroPadding1D: data_format padding
ZeroPadding2D: data_format padding
ZeroPadding3D: data_format padding
"""


OPTIONS = names_by_first(_TEXT)


def is_newer(version: str) -> bool:
    """Returns true for a version of Keras that may have options that are not listed."""
    numbers = re.match(r"(\d{1,6})\.(\d{1,6})", version)
    return numbers is not None and tuple(map(int, numbers.groups())) > KNOWN


def unknown(kind: str, config: dict) -> list[str]:
    """Returns the options that are set in the configuration of a layer, and that its class does not have. A newer Keras
    writes its new options into all files: those that are None or false have no effect."""
    known = OPTIONS.get(kind, frozenset()) | _OF_ALL
    return [
        key for key, value in config.items()
        if key not in known and value not in (None, False) and not _OF_TRAINING.fullmatch(key)
    ]  # fmt: skip
