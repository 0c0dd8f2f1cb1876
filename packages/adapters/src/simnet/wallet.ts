import { type Transaction, type TransactionOutput, virtualSize } from '@penstock/bitcoin/transaction.ts'
import { freeCoinSql } from './schema.ts'
import type { SimnetStore } from './store.ts'

type Coin = { txid: string; vout: bigint; value_sat: bigint }

const FREE_COINS_SQL = `owner = ? AND ${freeCoinSql()}`
/** Minimum change. A smaller output costs more to spend than its value, so the value goes to the fee. */
const DUST_SAT = 330n
const FIRST_PAGE_SIZE = 32

/** @returns the sat in confirmed coins that are neither spent nor locked */
export const readConfirmedSat = (store: SimnetStore, pubkey: string): bigint =>
  store.get<{ free_sat: bigint }>('SELECT free_sat FROM wallets WHERE owner = ?', pubkey)?.free_sat ?? 0n

export type PaymentDraft = { readonly transaction: Transaction; readonly feeSat: bigint; readonly vsize: number }

/** Drafts a transaction to an output, with the change back to the payer. @returns undefined if the coins are insufficient */
export function draftPayment(
  store: SimnetStore,
  payer: { pubkey: string; script: string },
  output: TransactionOutput,
  feeRate: number,
): PaymentDraft | undefined {
  const change = { valueSat: 0n, script: payer.script }
  const feeFor = (coins: number): bigint => BigInt(Math.ceil(virtualSize(coins, [output, change]) * feeRate))
  const coins = chooseCoins(store, payer.pubkey, (count) => output.valueSat + feeFor(count))
  if (!coins) return undefined
  const sum = coins.reduce((total, { value_sat }) => total + value_sat, 0n)
  const changeSat = sum - output.valueSat - feeFor(coins.length)
  const outputs = changeSat >= DUST_SAT ? sortOutputs([output, { ...change, valueSat: changeSat }]) : [output]
  const paid = outputs.reduce((total, { valueSat }) => total + valueSat, 0n)
  return {
    transaction: { inputs: coins.map(({ txid, vout }) => ({ txid, vout: Number(vout) })), outputs },
    feeSat: sum - paid,
    vsize: virtualSize(coins.length, outputs),
  }
}

/** Chooses the smallest coin that is sufficient alone, or else the largest coins together. */
function chooseCoins(store: SimnetStore, owner: string, needed: (count: number) => bigint): Coin[] | undefined {
  const single = store.get<Coin>(
    `SELECT txid, vout, value_sat FROM outputs WHERE ${FREE_COINS_SQL} AND value_sat >= ? ORDER BY value_sat LIMIT 1`,
    owner,
    needed(1),
  )
  if (single) return [single]
  const coins: Coin[] = []
  let sum = 0n
  for (const coin of readLargestFirst(store, owner)) {
    coins.push(coin)
    sum += coin.value_sat
    if (sum >= needed(coins.length)) return coins
  }
  return undefined
}

/** Reads coins in pages, because a seller has a coin for every channel that was ever closed, and needs only a few. */
function* readLargestFirst(store: SimnetStore, owner: string): Generator<Coin> {
  // Each query counts up to its offset again, so the pages get larger.
  for (let [offset, count] = [0, FIRST_PAGE_SIZE]; ; [offset, count] = [offset + count, count * 2]) {
    const coins = store.all<Coin>(
      `SELECT txid, vout, value_sat FROM outputs WHERE ${FREE_COINS_SQL} ORDER BY value_sat DESC, txid DESC, vout DESC LIMIT ? OFFSET ?`,
      owner,
      count,
      offset,
    )
    yield* coins
    if (coins.length < count) return
  }
}

// Sorts outputs by BIP 69, so that their order does not reveal the change.
const sortOutputs = (outputs: TransactionOutput[]): TransactionOutput[] =>
  outputs.toSorted((x, y) => (x.valueSat === y.valueSat ? (x.script < y.script ? -1 : 1) : x.valueSat < y.valueSat ? -1 : 1))

export function lockCoins(store: SimnetStore, transaction: Transaction, outpoint: string): void {
  for (const { txid, vout } of transaction.inputs)
    store.run('UPDATE outputs SET locked_by = ? WHERE txid = ? AND vout = ?', outpoint, txid, vout)
}

export const unlockCoins = (store: SimnetStore, outpoint: string): void => {
  store.run('UPDATE outputs SET locked_by = NULL WHERE locked_by = ?', outpoint)
}
