import { append } from './append.ts'
import type { Subject } from './harness.ts'

/** `npm run bench`, or `npm run bench -- append` for some of them. */
const subjects: readonly Subject[] = [append]

const wanted = process.argv.slice(2)
for (const subject of subjects) if (wanted.length === 0 || wanted.includes(subject.name)) await subject.run()
