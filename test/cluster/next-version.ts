import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CheckoutCopy, copyCheckoutToTemp } from '../mutants/checkout-copy.ts'
import { runSuccessfullySync } from '../support/processes.ts'

const ORDERS_TABLES = /gateway_(orders|holds|channels|order_facts|sales)_v2/g
const ORDER_SOURCES = 'services/order/src'
const GATEWAY_SOURCES = 'services/gateway/src'
const MARKET_SOURCES = `${GATEWAY_SOURCES}/market`

/**
 * Creates the next release in a copy of the checkout, by three changes that any release may make. One fact gets a new version.
 * The state after this fact changes, so a new version of the hashed projection is added. One read model gets new tables,
 * which are filled while the old tables are in use.
 */
export function createNextVersion(): CheckoutCopy {
  const copy = copyCheckoutToTemp()
  changeFact(copy)
  changeState(copy)
  changeReadModel(copy)
  // The rules for facts require a sample of the new version. The samples of the old versions have to remain readable.
  const golden = (...args: readonly string[]) =>
    runSuccessfullySync(process.execPath, [join(copy.folder, 'tools/golden.ts'), ...args])
  golden()
  golden('--check')
  return copy
}

/** Moves one key of OrderPlaced into a nested object. */
function changeFact(copy: CheckoutCopy): void {
  const third = `OrderPlaced: v3(
      orderTerms.extend({ approval: z.strictObject({ before: instant.nullable() }) }),
      acceptMissingInvoiceBefore,
      ({ approveBefore, ...terms }: { readonly approveBefore: unknown }) => ({ ...terms, approval: { before: approveBefore } }),
    ),`
  replaceTexts(copy, 'packages/contracts/src/order.ts', [
    ['OrderPlaced: v2(orderTerms.extend({ approveBefore: instant.nullable() }), acceptMissingInvoiceBefore),', third],
  ])
  replaceTexts(copy, 'tools/golden-values.ts', [['approveBefore: days(1)', 'before: days(1)']])
  replaceTexts(copy, `${ORDER_SOURCES}/outcomes.ts`, [['OrderPlaced: 2', 'OrderPlaced: 3']])
  replaceTexts(copy, `${ORDER_SOURCES}/decide/placing.ts`, [
    ['{ ...terms, approveBefore }', '{ ...terms, approval: { before: approveBefore } }'],
    ['order.approveBefore === deadline', 'order.approval.before === deadline'],
  ])
}

/** Gives the state the fact's new shape. The projections 1 to 4 convert it to the old shape before they hash it. */
function changeState(copy: CheckoutCopy): void {
  const hashed = `hashed: {
        version: 5,
        projections: {
          1: (state) => withoutSuperseded(asBefore(state)),
          2: (state) => withoutAttemptOutpoints(asBefore(state)),
          3: (state) => withoutDefect(asBefore(state)),
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
  replaceTexts(copy, `${ORDER_SOURCES}/service.ts`, [
    [
      `hashed: {
        version: 4,
        projections: { 1: withoutSuperseded, 2: withoutAttemptOutpoints, 3: withoutDefect, 4: (state: Order) => state },
      },`,
      hashed,
    ],
  ])
  rewriteFile(copy, `${ORDER_SOURCES}/service.ts`, (text) => text + asBefore)
  replaceTexts(copy, `${ORDER_SOURCES}/state.ts`, [
    ['readonly approveBefore: number | null', 'readonly approval: { readonly before: number | null }'],
  ])
  replaceTexts(copy, `${ORDER_SOURCES}/order.ts`, [
    ['const { approveBefore, ...terms } = data', 'const { approval, ...terms } = data'],
    ['    approveBefore,\n', '    approval,\n'],
  ])
  replaceTexts(copy, `${ORDER_SOURCES}/fulfilment.ts`, [
    [
      "order.approveBefore !== null && order.hold === 'none') return [approvalDeadline(order.approveBefore)]",
      "order.approval.before !== null && order.hold === 'none') return [approvalDeadline(order.approval.before)]",
    ],
  ])
}

function changeReadModel(copy: CheckoutCopy): void {
  replaceTexts(copy, `${MARKET_SOURCES}/views/order-view.ts`, [
    ['readonly approveBefore: number | null }', 'readonly approval: { readonly before: number | null } }'],
  ])
  replaceTexts(copy, `${MARKET_SOURCES}/records/order-record.ts`, [['terms.approveBefore', 'terms.approval.before']])
  replaceTexts(copy, `${MARKET_SOURCES}/area.ts`, [["name: 'orders',\n      version: 2,", "name: 'orders',\n      version: 3,"]])
  rewriteFile(copy, `${MARKET_SOURCES}/views/migrations.ts`, addTables)
  for (const file of listOrdersTableUsers(copy)) rewriteFile(copy, file, renameTables)
}

/** Lists the gateway's files that name a table of the orders. Migrations keep the names of earlier versions. */
const listOrdersTableUsers = ({ folder }: CheckoutCopy): readonly string[] =>
  readdirSync(join(folder, GATEWAY_SOURCES), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/migrations\.ts$|\.test\.ts$/.test(file))
    .map((file) => `${GATEWAY_SOURCES}/${file}`)

const renameTables = (text: string): string => text.replace(ORDERS_TABLES, (_, name: string) => `gateway_${name}_v3`)

/** Adds the new tables with a history of their own, and does not change the released steps. */
function addTables(text: string): string {
  const released = "  { name: 'gateway orders v2', steps: [createOrderTables('_v2')] },\n"
  return replaceOnce(text, released, `${released}${released.replaceAll('v2', 'v3')}`)
}

const replaceTexts = (copy: CheckoutCopy, path: string, texts: readonly (readonly [from: string, to: string])[]): void =>
  rewriteFile(copy, path, (text) => texts.reduce((changed, [from, to]) => replaceOnce(changed, from, to), text))

function rewriteFile({ folder }: CheckoutCopy, path: string, transform: (text: string) => string): void {
  const file = join(folder, path)
  writeFileSync(file, transform(readFileSync(file, 'utf8')))
}

function replaceOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the file does not contain "${from}" exactly once`)
  return text.replace(from, () => to)
}
