import { append } from './append.ts'
import { buy } from './buy.ts'
import { fold } from './fold.ts'
import type { Row, Subject } from './harness.ts'
import { table } from './table.ts'

/** `npm run bench`, or `npm run bench -- append` for some of them. */
const subjects: readonly Subject[] = [append, fold, buy]

const names = subjects.map(({ name }) => name)
const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !names.includes(name))
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}"; there are ${names.join(', ')}.`)
  process.exit(2)
}
const rows: Row[] = []
for (const subject of subjects) {
  if (wanted.length > 0 && !wanted.includes(subject.name)) continue
  console.error(`${subject.name} ...`)
  rows.push(...(await subject.run()))
}
console.log(
  `\nMedians over interleaved rounds. The ratio is measured / reference of the same run: of rates the greater is better, of\nmilliseconds the smaller.\n\n${table(rows)}`,
)
