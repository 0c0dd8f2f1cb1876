import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listActions, findModelBreaches } from './model-actions.ts'
import { expectNone } from './report.ts'
import { readRepositoryFile, REPOSITORY_ROOT } from './repository.ts'

const readText = (path: string): string | undefined =>
  existsSync(join(REPOSITORY_ROOT, path)) ? readRepositoryFile(path) : undefined

test('ARCHITECTURE.md refers to the code of every action of the TLA+ model', () => {
  const module = readRepositoryFile('docs/model/Penstock.tla')
  expect(listActions(module)).toEqual(expect.arrayContaining(['Block', 'Publish', 'TakeNote', 'Speak', 'PayTold']))
  expectNone(findModelBreaches(module, readRepositoryFile('ARCHITECTURE.md'), readText))
})

test('an action without a row, a row without an action, and missing names and files are reported', () => {
  const module = `Alone == TRUE\nPaid(o) == TRUE\nTaken == TRUE\nOurs == Taken\nNext == \\/ Alone \\/ (\\E o \\in Outs : Paid(o))\n        \\/ Ours\n====\n`
  const page = `\n## The model\n
| \`Paid\` | the order is paid | \`pay.ts\` (\`pay\`, \`gone\`) |
| \`Taken\` | the order is taken | \`nowhere.ts\` (\`take\`) |
| \`Older\` | nothing | \`pay.ts\` (\`pay\`) |
\n## Homes\n`
  const texts: Readonly<Record<string, string>> = { 'pay.ts': 'export function pay() {}\n// gone\n' }
  expect(findModelBreaches(module, page, (path) => texts[path])).toEqual([
    expect.stringContaining('action Alone'),
    expect.stringContaining('row for Older'),
    expect.stringContaining('gone, which pay.ts does not define'),
    expect.stringContaining('nowhere.ts, which does not exist'),
  ])
})
