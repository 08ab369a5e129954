// Runs a network of `relay compile --emit wasm` on numbers: node run.mjs FOLDER NUMBERS...
import { pathToFileURL } from "node:url";

const [folder, ...numbers] = process.argv.slice(2);
const { load, ModelError } = await import(`${pathToFileURL(folder).href}/model.mjs`);
const model = await load();
try {
  const { output } = model.run({ x: numbers.map(Number) });
  console.log(output.constructor.name, output.length);
} catch (error) {
  if (!(error instanceof ModelError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
