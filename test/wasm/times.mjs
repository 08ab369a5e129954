// Times of a package and of ONNX Runtime Web on one model, in turns, in Node and in browsers.

const median = (times) => times.slice().sort((a, b) => a - b)[times.length >> 1];

async function timed(run) {
  const begin = performance.now();
  const result = await run();
  return [performance.now() - begin, result];
}

/**
 * `load`: of the package. `ort`: the module onnxruntime-web. `bytes`: of the model. `largest`: input. Milliseconds of loading, of the first
 * run and of the shortest and the median run, by engine; and the largest difference of their outputs, over the largest
 * output.
 */
export async function compare(load, ort, bytes, rounds, largest) {
  ort.env.wasm.numThreads = 1;
  const [relayLoad, model] = await timed(() => load());
  const [peerLoad, session] = await timed(() => ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] }));
  const values = model.inputs.map(({ name }) => model.input(name).map((_, i) => largest * Math.sin(i * 0.37)));
  model.inputs.forEach(({ name }, i) => model.input(name).set(values[i]));
  const feeds = Object.fromEntries(model.inputs.map(({ name, dtype, shape }, i) => [name, new ort.Tensor(dtype, values[i], shape)]));
  const [relayFirst] = await timed(() => model.compute());
  const [peerFirst, results] = await timed(() => session.run(feeds));
  const relay = [], peer = [];
  for (let i = 0; i < rounds; ++i) {
    relay.push((await timed(() => model.compute()))[0]);
    peer.push((await timed(() => session.run(feeds)))[0]);
  }
  let difference = 0;
  for (const { name } of model.outputs) {
    const got = model.output(name), want = results[name].data;
    const most = want.reduce((highest, value) => Math.max(highest, Math.abs(value)), 0);
    got.forEach((value, i) => { difference = Math.max(difference, Math.abs(value - want[i]) / most); });
  }
  const row = (loading, first, times) => ({ load: loading, first, least: Math.min(...times), median: median(times) });
  return { relay: row(relayLoad, relayFirst, relay), ort: row(peerLoad, peerFirst, peer), difference };
}
