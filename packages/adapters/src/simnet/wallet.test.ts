import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TemporaryNetwork, openTemporaryNetwork } from './temporary-network.ts'

let network: TemporaryNetwork
beforeEach(() => {
  network = openTemporaryNetwork()
})
afterEach(() => network.drop())

const inFile = <T>(check: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(network.path)
  try {
    return check(db)
  } finally {
    db.close()
  }
}

/** Sums the confirmed coins of every owner that are neither spent nor locked. */
const sumCoins = (): Readonly<Record<string, number>> =>
  inFile((db) =>
    Object.fromEntries(
      db
        .prepare(
          `SELECT owner, sum(value_sat) AS sat FROM outputs JOIN txs USING (txid)
           WHERE owner IS NOT NULL AND spent_by IS NULL AND locked_by IS NULL AND height IS NOT NULL GROUP BY owner`,
        )
        .all()
        .map(({ owner, sat }) => [String(owner), Number(sat)]),
    ),
  )

async function readBalances(): Promise<Readonly<Record<string, number>>> {
  const { control, lightning } = network.simnet()
  const sums = await Promise.all(
    control.nodes().map(async ({ alias, pubkey }) => [pubkey, Number(await lightning(alias).wallet.confirmedSat())] as const),
  )
  return Object.fromEntries(sums)
}

async function expectConsistent(after: string): Promise<void> {
  const [sums, coins] = [await readBalances(), sumCoins()]
  for (const [owner, sat] of Object.entries(sums)) expect(`${after}: ${sat}`).toBe(`${after}: ${coins[owner] ?? 0}`)
}

/** Runs every operation that moves coins, one after the other. */
async function exercise(check: (after: string) => Promise<void>): Promise<void> {
  const { control, lightning } = network.simnet()
  const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
  const seller = lightning('seller-ada')
  await seller.peers.connect(buyer, 'buyer.sim:9735')
  const prepare = () => seller.channels.prepare({ peer: buyer, capacitySat: 500_000n, isPrivate: false, feeRateSatPerVbyte: 2 })
  const funding = await prepare()
  await check('coins are locked')
  await seller.channels.abandon(funding)
  await check('coins are unlocked')
  const { outpoint } = control.open('seller-ada', buyer, 1_000_000n)
  await check('a funding is unconfirmed')
  control.mine(6)
  await check('the funding is confirmed')
  control.reorg(3)
  await check('a re-organisation')
  control.close(outpoint)
  await check('a closing is unconfirmed')
  control.mine(2)
  await check('the closing is confirmed')
  const lost = control.open('seller-ada', buyer, 700_000n)
  control.doubleSpend(lost.outpoint.split(':')[0] ?? '')
  await check('another transaction spends the coins')
  control.mine(1)
  control.reorg(2, { remine: true })
  await check('a re-organisation with the same transactions')
}

test('a wallet balance equals the sum of its coins after every operation', async () => {
  await expectConsistent('at the start')
  await exercise(expectConsistent)
  await network.reopen()
  await expectConsistent('after a restart')
})

test('an old file without stored balances keeps its balances', async () => {
  await exercise(() => Promise.resolve())
  const before = sumCoins()
  await network.simnet().close()
  inFile((db) => {
    for (const name of ['tx_confirmed', 'coin_freed', 'coin_taken', 'coin_gone']) db.exec(`DROP TRIGGER ${name}`)
    db.exec('DROP TABLE wallets; ALTER TABLE outputs DROP COLUMN is_confirmed')
  })
  await network.reopen()
  expect(sumCoins()).toEqual(before)
  await expectConsistent('after a restart with the old file')
})

test('a payment that needs many coins spends as few as possible, starting with the largest', async () => {
  const { control } = network.simnet()
  const nodes = control.nodes()
  const [ada, buyer] = ['seller-ada', 'buyer'].map((wanted) => nodes.find(({ alias }) => alias === wanted)?.pubkey ?? '')
  const values = Array.from({ length: 150 }, (_, n) => 20_000 + 10 * Math.floor(n / 3))
  inFile((db) => {
    db.prepare('DELETE FROM outputs WHERE owner = ?').run(ada ?? '')
    for (const [n, value] of values.entries()) {
      const txid = `${n}`.padStart(64, '0')
      db.prepare("INSERT INTO txs (txid, raw, fee_sat, vsize, is_coinbase) VALUES (?, '', 1, 200, 0)").run(txid)
      db.prepare("INSERT INTO outputs (txid, vout, value_sat, script, owner) VALUES (?, 0, ?, '', ?)").run(txid, value, ada ?? '')
      db.prepare('UPDATE txs SET height = 1, tx_index = ? WHERE txid = ?').run(1000 + n, txid)
    }
  })
  const { outpoint } = control.open('seller-ada', buyer ?? '', 2_000_000n)
  const chosen = inFile((db) =>
    db
      .prepare('SELECT txid, value_sat FROM outputs WHERE spent_by = ?')
      .all(outpoint.split(':')[0] ?? '')
      .map(({ txid, value_sat }) => [Number(txid), Number(value_sat)] as const),
  )
  // Among coins of equal value the choice is deterministic.
  expect(chosen.map(([n]) => n).toSorted((a, b) => b - a)).toEqual(chosen.map((_, n) => values.length - 1 - n))
  const spent = chosen.map(([, value]) => value)
  expect(spent.length).toBeGreaterThan(64)
  expect(spent.toSorted((a, b) => b - a)).toEqual(values.toSorted((a, b) => b - a).slice(0, spent.length))
  expect(sumOf(spent)).toBeGreaterThan(2_000_000)
  expect(sumOf(spent.slice(1))).toBeLessThan(2_000_000 + 30_000)
  expect(() => control.open('seller-ada', buyer ?? '', 2_000_000n)).toThrow('too few confirmed coins')
})

const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
