import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scratch, scratchSimnet } from './scratch.ts'

let scratch: Scratch
beforeEach(() => {
  scratch = scratchSimnet()
})
afterEach(() => scratch.drop())

const inFile = <T>(look: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(scratch.path)
  try {
    return look(db)
  } finally {
    db.close()
  }
}

/** What every owner has in confirmed coins that nothing is about to spend, counted coin by coin. */
const counted = (): Readonly<Record<string, number>> =>
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

async function told(): Promise<Readonly<Record<string, number>>> {
  const { control, lightning } = scratch.simnet()
  const sums = await Promise.all(
    control.nodes().map(async ({ alias, pubkey }) => [pubkey, Number(await lightning(alias).wallet.confirmedSat())] as const),
  )
  return Object.fromEntries(sums)
}

async function agrees(after: string): Promise<void> {
  const [sums, coins] = [await told(), counted()]
  for (const [owner, sat] of Object.entries(sums)) expect(`${after}: ${sat}`).toBe(`${after}: ${coins[owner] ?? 0}`)
}

/** Everything that moves coins, one after the other. */
async function live(look: (after: string) => Promise<void>): Promise<void> {
  const { control, lightning } = scratch.simnet()
  const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
  const seller = lightning('seller-ada')
  await seller.peers.connect(buyer, 'buyer.sim:9735')
  const prepare = () => seller.channels.prepare({ peer: buyer, capacitySat: 500_000n, isPrivate: false, feeRateSatPerVbyte: 2 })
  const given = await prepare()
  await look('coins are locked')
  await seller.channels.abandon(given)
  await look('and freed')
  const { outpoint } = control.open('seller-ada', buyer, 1_000_000n)
  await look('a funding waits')
  control.mine(6)
  await look('it is confirmed')
  control.reorg(3)
  await look('a re-org')
  control.close(outpoint)
  await look('a closing waits')
  control.mine(2)
  await look('it is confirmed too')
  const lost = control.open('seller-ada', buyer, 700_000n)
  control.doubleSpend(lost.outpoint.split(':')[0] ?? '')
  await look('another transaction takes the coins')
  control.mine(1)
  control.reorg(2, { remine: true })
  await look('a re-org that keeps them')
}

test('a wallet tells what its coins add up to, whatever has become of them', async () => {
  await agrees('in the beginning')
  await live(agrees)
  await scratch.reopen()
  await agrees('after a restart')
})

test('a file of before, whose coins were counted each time, is read as it was', async () => {
  await live(() => Promise.resolve())
  const before = counted()
  await scratch.simnet().close()
  inFile((db) => {
    for (const name of ['tx_confirmed', 'coin_freed', 'coin_taken', 'coin_gone']) db.exec(`DROP TRIGGER ${name}`)
    db.exec('DROP TABLE wallets; ALTER TABLE outputs DROP COLUMN is_confirmed')
  })
  await scratch.reopen()
  expect(counted()).toEqual(before)
  await agrees('read again')
})

test('a payment that needs many coins takes the largest ones, and as few of them as are enough', async () => {
  const { control } = scratch.simnet()
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
  const taken = inFile((db) =>
    db
      .prepare('SELECT txid, value_sat FROM outputs WHERE spent_by = ?')
      .all(outpoint.split(':')[0] ?? '')
      .map(({ txid, value_sat }) => [Number(txid), Number(value_sat)] as const),
  )
  // Of coins that are alike, always the same ones.
  expect(taken.map(([n]) => n).toSorted((a, b) => b - a)).toEqual(taken.map((_, n) => values.length - 1 - n))
  const spent = taken.map(([, value]) => value)
  expect(spent.length).toBeGreaterThan(64)
  expect(spent.toSorted((a, b) => b - a)).toEqual(values.toSorted((a, b) => b - a).slice(0, spent.length))
  expect(sumOf(spent)).toBeGreaterThan(2_000_000)
  expect(sumOf(spent.slice(1))).toBeLessThan(2_000_000 + 30_000)
  expect(() => control.open('seller-ada', buyer ?? '', 2_000_000n)).toThrow('too few confirmed coins')
})

const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
