import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Copy, copyOfCheckout } from '../mutants/copy.ts'

const ORDERS_TABLES = /(['"])?gateway_(orders|holds|channels|order_facts|sales)\b/g
const gateway = 'services/gateway/src'

/**
 * The next release, as a change of this one that every release may make: a fact says more than before, and a read model
 * has another shape, so it has tables of its own that are filled beside those of the release before.
 */
export function nextVersion(): Copy {
  const copy = copyOfCheckout()
  change(copy, 'packages/contracts/src/order.ts', (text) =>
    once(text, 'approveBefore: instant.nullable() })', 'approveBefore: instant.nullable(), release: z.string().optional() })'),
  )
  change(copy, 'services/order/src/decide.placing.ts', (text) =>
    once(text, '{ ...terms, approveBefore })', "{ ...terms, approveBefore, release: 'next' })"),
  )
  change(copy, `${gateway}/views/projections.ts`, (text) =>
    renamed(once(text, 'version: 1,', "version: name === 'orders' ? 2 : 1,")),
  )
  change(copy, `${gateway}/views/migrations.ts`, withTablesBeside)
  for (const folder of ['views', 'read', 'operations'])
    for (const file of readdirSync(join(copy.folder, gateway, folder)))
      if (file.endsWith('.ts') && !/^(migrations|projections)\.ts$|\.test\.ts$/.test(file))
        change(copy, `${gateway}/${folder}/${file}`, renamed)
  return copy
}

const renamed = (text: string): string => text.replace(ORDERS_TABLES, (name) => `${name}_v2`)

/** What was released stays as it is; the new tables are further steps. */
function withTablesBeside(text: string): string {
  const blocks = ['orders', 'toPay'].map((name) => {
    const [block] = new RegExp(`const ${name}: Migration = async \\(db\\) => \\{[\\s\\S]*?\\n\\}\\n`).exec(text) ?? []
    if (block === undefined) throw new Error(`there is no migration ${name}`)
    return renamed(block.replace(`const ${name}:`, `const ${name}V2:`))
  })
  const [list] = /\[orders, market, [\w, ]+\]/.exec(text) ?? ['']
  const steps = once(text, list, list.replace(']', ', ordersV2, toPayV2]'))
  return once(steps, '/** All tables at once', `${blocks.join('\n')}\n/** All tables at once`)
}

function change({ folder }: Copy, path: string, how: (text: string) => string): void {
  const file = join(folder, path)
  writeFileSync(file, how(readFileSync(file, 'utf8')))
}

function once(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`"${from}" is not there once`)
  return text.replace(from, () => to)
}
