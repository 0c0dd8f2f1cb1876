import { writeFileSync } from 'node:fs'
import { exitWithUsage, parsePositionals } from '../../test/support/options.ts'
import type { BenchmarkSize } from './harness.ts'
import { renderBenchmarksPage, type MeasuredBenchmark } from './report.ts'
import { benchmarks } from './benchmarks.ts'
import { formatBenchmarkTable } from './table.ts'

const PAGE = new URL('../../docs/benchmarks.md', import.meta.url)
const FULL_SIZE: BenchmarkSize = { isQuick: false }

const names = benchmarks.map(({ name }) => name)
const USAGE = `npm run bench                     measures everything and writes docs/benchmarks.md
npm run bench -- append fold      prints only these, and writes nothing: ${names.join(', ')}`
const requestedNames = parsePositionals(USAGE)
const unknown = requestedNames.find((name) => !names.includes(name))
if (unknown !== undefined) exitWithUsage(`Unknown benchmark "${unknown}".`, USAGE)
const measured: MeasuredBenchmark[] = []
for (const subject of benchmarks) {
  if (requestedNames.length > 0 && !requestedNames.includes(subject.name)) continue
  console.error(`${subject.name} ...`)
  measured.push({ name: subject.name, rows: await subject.run(FULL_SIZE) })
}
console.log(
  `\nMedians over interleaved rounds. The ratio is measured / reference of the same run. A greater ratio is better for\nrates, a smaller one for milliseconds.\n\n${formatBenchmarkTable(measured.flatMap(({ rows }) => rows))}`,
)
if (requestedNames.length === 0) {
  writeFileSync(PAGE, renderBenchmarksPage(measured))
  console.error('docs/benchmarks.md is written.')
}
