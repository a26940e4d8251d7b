// Preloaded beside fakecuda.so where torch's reducer (DistributedDataParallel) runs: it times itself with events on a device
// that is not there. g++ -shared -fPIC -o fakecudart.so capture/fakecudart.cpp
using Handle = void*;
static int nothing;

extern "C" {
int cudaGetDeviceCount(int* count) { *count = 1; return 0; }
int cudaGetDevice(int* device) { *device = 0; return 0; }
int cudaSetDevice(int) { return 0; }
int cudaEventCreateWithFlags(Handle* event, unsigned) { *event = &nothing; return 0; }
int cudaEventDestroy(Handle) { return 0; }
int cudaEventRecord(Handle, Handle) { return 0; }
int cudaEventRecordWithFlags(Handle, Handle, unsigned) { return 0; }
int cudaEventQuery(Handle) { return 0; }
int cudaEventSynchronize(Handle) { return 0; }
int cudaEventElapsedTime(float* time, Handle, Handle) { *time = 1; return 0; }
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = *greatest = 0; return 0; }
int cudaStreamCreateWithPriority(Handle* stream, unsigned, int) { *stream = &nothing; return 0; }
int cudaStreamQuery(Handle) { return 0; }
int cudaStreamSynchronize(Handle) { return 0; }
int cudaStreamWaitEvent(Handle, Handle, unsigned) { return 0; }
int cudaStreamIsCapturing(Handle, int* state) { *state = 0; return 0; }
}

namespace c10::cuda {
int MaybeSetDevice(signed char) { return 0; }
signed char MaybeExchangeDevice(signed char) { return 0; }
signed char ExchangeDevice(signed char) { return 0; }
int SetDevice(signed char, bool) { return 0; }
int GetDevice(signed char* device) { *device = 0; return 0; }
bool hasPrimaryContext(signed char) { return false; }
}  // namespace c10::cuda
