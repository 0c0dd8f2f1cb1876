import { type Transaction, type TransactionOutput, virtualSize } from '@penstock/bitcoin/transaction.ts'
import { isFree } from './schema.ts'
import type { Net } from './store.ts'

type Coin = { txid: string; vout: bigint; value_sat: bigint }

const FREE = `owner = ? AND ${isFree()}`
/** Below this an output costs more to spend than it brings; it goes to the fee. */
const DUST_SAT = 330n
const COINS_READ = 32

/** @returns sat in confirmed coins that nothing else is about to spend */
export const confirmedSat = (net: Net, pubkey: string): bigint =>
  net.get<{ free_sat: bigint }>('SELECT free_sat FROM wallets WHERE owner = ?', pubkey)?.free_sat ?? 0n

export type Draft = { readonly transaction: Transaction; readonly feeSat: bigint; readonly vsize: number }

/** Chooses coins for an output and gives the change back. @returns undefined where the coins don't reach */
export function draftPayment(
  net: Net,
  payer: { pubkey: string; script: string },
  output: TransactionOutput,
  feeRate: number,
): Draft | undefined {
  const change = { valueSat: 0n, script: payer.script }
  const feeFor = (coins: number): bigint => BigInt(Math.ceil(virtualSize(coins, [output, change]) * feeRate))
  const coins = chooseCoins(net, payer.pubkey, (count) => output.valueSat + feeFor(count))
  if (!coins) return undefined
  const sum = coins.reduce((total, { value_sat }) => total + value_sat, 0n)
  const left = sum - output.valueSat - feeFor(coins.length)
  const outputs = left >= DUST_SAT ? sorted([output, { ...change, valueSat: left }]) : [output]
  const paid = outputs.reduce((total, { valueSat }) => total + valueSat, 0n)
  return {
    transaction: { inputs: coins.map(({ txid, vout }) => ({ txid, vout: Number(vout) })), outputs },
    feeSat: sum - paid,
    vsize: virtualSize(coins.length, outputs),
  }
}

/** The smallest coin that is enough alone, else the largest ones together. */
function chooseCoins(net: Net, owner: string, needed: (count: number) => bigint): Coin[] | undefined {
  const one = net.get<Coin>(
    `SELECT txid, vout, value_sat FROM outputs WHERE ${FREE} AND value_sat >= ? ORDER BY value_sat LIMIT 1`,
    owner,
    needed(1),
  )
  if (one) return [one]
  const coins: Coin[] = []
  let sum = 0n
  for (const coin of largestFirst(net, owner)) {
    coins.push(coin)
    sum += coin.value_sat
    if (sum >= needed(coins.length)) return coins
  }
  return undefined
}

/** In pages: a seller has a coin for every channel that was ever closed, and needs a few. */
function* largestFirst(net: Net, owner: string): Generator<Coin> {
  // Each page begins anew to count, so that they get larger.
  for (let [offset, count] = [0, COINS_READ]; ; [offset, count] = [offset + count, count * 2]) {
    const coins = net.all<Coin>(
      `SELECT txid, vout, value_sat FROM outputs WHERE ${FREE} ORDER BY value_sat DESC, txid DESC, vout DESC LIMIT ? OFFSET ?`,
      owner,
      count,
      offset,
    )
    yield* coins
    if (coins.length < count) return
  }
}

// BIP 69: an observer must not read from the order which output is the change.
const sorted = (outputs: TransactionOutput[]): TransactionOutput[] =>
  outputs.toSorted((x, y) => (x.valueSat === y.valueSat ? (x.script < y.script ? -1 : 1) : x.valueSat < y.valueSat ? -1 : 1))

export function lockCoins(net: Net, transaction: Transaction, outpoint: string): void {
  for (const { txid, vout } of transaction.inputs)
    net.run('UPDATE outputs SET locked_by = ? WHERE txid = ? AND vout = ?', outpoint, txid, vout)
}

export const unlockCoins = (net: Net, outpoint: string): void => {
  net.run('UPDATE outputs SET locked_by = NULL WHERE locked_by = ?', outpoint)
}
