// Runs the self-tests of packages in one process: node self_tests.mjs FOLDER NAME... Prints the problems as JSON, by name.
import { pathToFileURL } from "node:url";

const [folder, ...names] = process.argv.slice(2);
const problems = {};
for (const name of names) {
  try {
    const { selfTest } = await import(`${pathToFileURL(folder).href}/${name}/test.mjs`);
    const lines = await selfTest();
    if (lines.length > 0) problems[name] = lines.join("; ");
  } catch (error) {
    problems[name] = error.stack ?? String(error);
  }
}
console.log(JSON.stringify(problems));
