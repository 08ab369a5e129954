// A thread of the network in model.mjs: an instance of the same module, on the same memory and a stack of its own.
const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);
const port = isNode ? (await import("node:worker_threads")).parentPort : self;

function serve({ module, memory, stack, scratch }) {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = stack;
  port.postMessage("ready");
  try {
    exports.relay_worker(scratch);
  } catch (error) {
    exports.relay_fail();
    console.error(error);
  }
  if (!isNode) close();
}

if (isNode) port.once("message", serve);
else port.onmessage = ({ data }) => serve(data);
