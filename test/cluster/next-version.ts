import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Copy, copyOfCheckout } from '../mutants/copy.ts'

const ORDERS_TABLES = /gateway_(orders|holds|channels|order_facts|sales)_v2/g
const order = 'services/order/src'
const gateway = 'services/gateway/src'

/**
 * The next release, as a change of this one that every release may make: a fact has another shape, so it has a second
 * version; the state that follows from it has another shape too, so it is hashed by a second projection; and a read model has
 * another shape, so it has tables of its own that are filled beside those of the release before.
 */
export function nextVersion(): Copy {
  const copy = copyOfCheckout()
  changeFact(copy)
  changeState(copy)
  changeReadModel(copy)
  // As the rules for facts ask: a sample of the new version, beside those of the old one, which have to be read as before.
  const golden = (...args: readonly string[]) =>
    execFileSync(process.execPath, [join(copy.folder, 'tools/golden.ts'), ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  golden()
  golden('--check')
  return copy
}

/** What was one key of OrderPlaced lies in an object of its own. */
function changeFact(copy: Copy): void {
  const second = `OrderPlaced: v2(
      orderTerms.extend({ approval: z.strictObject({ before: instant.nullable() }) }),
      ({ approveBefore, ...terms }: { readonly approveBefore: unknown }) => ({ ...terms, approval: { before: approveBefore } }),
    ),`
  change(copy, 'packages/contracts/src/order.ts', [
    ['OrderPlaced: v1(orderTerms.extend({ approveBefore: instant.nullable() })),', second],
  ])
  change(copy, 'tools/golden-values.ts', [['approveBefore: days(1)', 'before: days(1)']])
  change(copy, `${order}/fact.ts`, [
    ['InvalidChannelOpening: 2, OutpointNamed: 2', 'InvalidChannelOpening: 2, OrderPlaced: 2, OutpointNamed: 2'],
  ])
  change(copy, `${order}/decide.placing.ts`, [
    ['{ ...terms, approveBefore }', '{ ...terms, approval: { before: approveBefore } }'],
    ['order.approveBefore === deadline', 'order.approval.before === deadline'],
  ])
}

/** The state keeps the fact's new shape; by the first projection it looks as it always did. */
function changeState(copy: Copy): void {
  const hashed = `hashed: {
        version: 5,
        of: {
          1: (state) => withoutSuperseded(asBefore(state)),
          2: (state) => withoutNamings(asBefore(state)),
          3: (state) => withoutWrong(asBefore(state)),
          4: (state) => asBefore(state),
          5: (state: Order) => state,
        },
      },`
  const asBefore = `
function asBefore(state: Order): any {
  if (state.status === 'NONE') return state
  const { approval, ...placed } = state
  return { ...placed, approveBefore: approval.before }
}
`
  change(copy, `${order}/service.ts`, [
    [
      'hashed: { version: 4, of: { 1: withoutSuperseded, 2: withoutNamings, 3: withoutWrong, 4: (state: Order) => state } },',
      hashed,
    ],
    ['\n/** As it was hashed before invoices of a lost turn', `${asBefore}\n/** As it was hashed before invoices of a lost turn`],
  ])
  change(copy, `${order}/state.ts`, [
    ['readonly approveBefore: number | null', 'readonly approval: { readonly before: number | null }'],
  ])
  change(copy, `${order}/order.ts`, [
    ['const { approveBefore, ...terms } = data', 'const { approval, ...terms } = data'],
    ['    approveBefore,\n', '    approval,\n'],
  ])
  change(copy, `${order}/fulfilment.ts`, [
    [
      "order.approveBefore !== null && order.hold === 'none') return [approval(order.approveBefore)]",
      "order.approval.before !== null && order.hold === 'none') return [approval(order.approval.before)]",
    ],
  ])
}

function changeReadModel(copy: Copy): void {
  change(copy, `${gateway}/views/order-view.ts`, [
    ['readonly approveBefore: number | null }', 'readonly approval: { readonly before: number | null } }'],
  ])
  change(copy, `${gateway}/graphql/order-record.ts`, [['terms.approveBefore', 'terms.approval.before']])
  change(copy, `${gateway}/views/projections.ts`, [['orders: 2,', 'orders: 3,']])
  rewrite(copy, `${gateway}/views/projections.ts`, renamed)
  rewrite(copy, `${gateway}/views/migrations.ts`, withTablesBeside)
  for (const folder of ['views', 'read', 'operations'])
    for (const file of readdirSync(join(copy.folder, gateway, folder)))
      if (file.endsWith('.ts') && !/^(migrations|projections)\.ts$|\.test\.ts$/.test(file))
        rewrite(copy, `${gateway}/${folder}/${file}`, renamed)
}

const renamed = (text: string): string => text.replace(ORDERS_TABLES, (_, name: string) => `gateway_${name}_v3`)

/** What was released stays as it is; the new tables are further steps. */
function withTablesBeside(text: string): string {
  const second = "  await views.migrate('gateway orders 2', second)\n"
  const third = `  const third = [ordersIn('_v3', { to_pay: 'int' }), salesIn('_v3'), inTurn(openIn('_v3'), dueIn('_v3'))]
  await views.migrate('gateway orders 3', third)\n`
  return once(text, second, `${second}${third}`)
}

const change = (copy: Copy, path: string, texts: readonly (readonly [from: string, to: string])[]): void =>
  rewrite(copy, path, (text) => texts.reduce((changed, [from, to]) => once(changed, from, to), text))

function rewrite({ folder }: Copy, path: string, how: (text: string) => string): void {
  const file = join(folder, path)
  writeFileSync(file, how(readFileSync(file, 'utf8')))
}

function once(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`"${from}" is not there once`)
  return text.replace(from, () => to)
}
