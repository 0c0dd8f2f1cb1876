import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { actionsOf, modelBreaches } from './model-actions.ts'
import { expectNone } from './report.ts'
import { read, root } from './repository.ts'

const textOf = (path: string): string | undefined => (existsSync(join(root, path)) ? read(path) : undefined)

test('ARCHITECTURE.md names the code of every action of the model', () => {
  const module = read('docs/model/Penstock.tla')
  expect(actionsOf(module)).toEqual(expect.arrayContaining(['Block', 'Publish', 'TakeNote', 'Speak', 'PayTold']))
  expectNone(modelBreaches(module, read('ARCHITECTURE.md'), textOf))
})

test('an action without a row, a row without an action, and names of the past are found', () => {
  const module = `Alone == TRUE\nPaid(o) == TRUE\nTaken == TRUE\nOurs == Taken\nNext == \\/ Alone \\/ (\\E o \\in Outs : Paid(o))\n        \\/ Ours\n====\n`
  const page = `\n## The model\n
| \`Paid\` | it is paid | \`pay.ts\` (\`pay\`, \`gone\`) |
| \`Taken\` | it is taken | \`nowhere.ts\` (\`take\`) |
| \`Older\` | nothing | \`pay.ts\` (\`pay\`) |
\n## Homes\n`
  const texts: Readonly<Record<string, string>> = { 'pay.ts': 'export function pay() {}\n// gone\n' }
  expect(modelBreaches(module, page, (path) => texts[path])).toEqual([
    expect.stringContaining('action Alone'),
    expect.stringContaining('row for Older'),
    expect.stringContaining('gone, which pay.ts does not define'),
    expect.stringContaining('nowhere.ts, and there is no such file'),
  ])
})
