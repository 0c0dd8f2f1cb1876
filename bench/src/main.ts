import { writeFileSync } from 'node:fs'
import { refuse, wordsOf } from '../../test/harness/options.ts'
import type { Size } from './harness.ts'
import { benchmarksPage, type Measured } from './report.ts'
import { subjects } from './subjects.ts'
import { table } from './table.ts'

const PAGE = new URL('../../docs/benchmarks.md', import.meta.url)
const FULL: Size = { isQuick: false }

const names = subjects.map(({ name }) => name)
const USAGE = `npm run bench                     measures everything and writes docs/benchmarks.md
npm run bench -- append fold      prints these, and writes nothing: ${names.join(', ')}`
const wanted = wordsOf(USAGE)
const unknown = wanted.find((name) => !names.includes(name))
if (unknown !== undefined) refuse(`There is no benchmark "${unknown}".`, USAGE)
const measured: Measured[] = []
for (const subject of subjects) {
  if (wanted.length > 0 && !wanted.includes(subject.name)) continue
  console.error(`${subject.name} ...`)
  measured.push({ name: subject.name, rows: await subject.run(FULL) })
}
console.log(
  `\nMedians over interleaved rounds. The ratio is measured / reference of the same run: of rates the greater is better, of\nmilliseconds the smaller.\n\n${table(measured.flatMap(({ rows }) => rows))}`,
)
if (wanted.length === 0) {
  writeFileSync(PAGE, benchmarksPage(measured))
  console.error('docs/benchmarks.md is written.')
}
