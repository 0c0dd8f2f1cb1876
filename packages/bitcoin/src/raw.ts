import { concatBytes } from '@noble/hashes/utils.js'
import { bytesToHex, hash256, hexToBytes } from './hex.ts'
import type { Transaction } from './transaction.ts'

/** What nodes hand out in hex: transactions and blocks as they travel on the network. */

export type RawTransaction = Transaction & { readonly txid: string }

/** `time` is in seconds. */
export type Header = { readonly hash: string; readonly previousHash: string; readonly time: number }

export type RawBlock = Header & { readonly transactions: readonly RawTransaction[] }

const HEADER_BYTES = 80

/** @throws RangeError for what ends too early */
export const readTransaction = (hex: string): RawTransaction => transaction(reader(hexToBytes(hex)))

/** @throws RangeError for what ends too early */
export const readHeader = (hex: string): Header => header(reader(hexToBytes(hex)))

/** @throws RangeError for what ends too early */
export function readBlock(hex: string): RawBlock {
  const from = reader(hexToBytes(hex))
  return { ...header(from), transactions: from.list(() => transaction(from)) }
}

function header(from: Reader): Header {
  const bytes = from.take(HEADER_BYTES)
  const time = new DataView(bytes.buffer, bytes.byteOffset).getUint32(68, true)
  return { hash: shown(hash256(bytes)), previousHash: shown(bytes.slice(4, 36)), time }
}

/** The witnesses stand between outputs and lock time, and are no part of the id (BIP 144). */
function transaction(from: Reader): RawTransaction {
  const version = from.take(4)
  const isSegwit = from.peek() === 0
  if (isSegwit) from.take(2)
  const start = from.at()
  const inputs = from.list(() => ({
    txid: shown(from.take(32).slice()),
    vout: from.number(4),
    script: bytesToHex(from.take(from.size())),
    sequence: from.number(4),
  }))
  const outputs = from.list(() => ({ valueSat: from.bigint(8), script: bytesToHex(from.take(from.size())) }))
  const body = from.since(start)
  if (isSegwit) inputs.forEach(() => from.list(() => from.take(from.size())))
  const lockTime = from.take(4)
  return { txid: shown(hash256(concatBytes(version, body, lockTime))), inputs, outputs }
}

/** Hashes are written backwards. */
const shown = (bytes: Uint8Array): string => bytesToHex(bytes.reverse())

type Reader = ReturnType<typeof reader>

function reader(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new RangeError('the bytes end too early')
    at += length
    return bytes.subarray(at - length, at)
  }
  const number = (length: 1 | 2 | 4): number => {
    const from = at
    take(length)
    return length === 1 ? view.getUint8(from) : length === 2 ? view.getUint16(from, true) : view.getUint32(from, true)
  }
  const bigint = (_: 8): bigint => {
    take(8)
    return view.getBigUint64(at - 8, true)
  }
  /** Bitcoin's number of changing length. */
  const size = (): number => {
    const first = number(1)
    if (first < 0xfd) return first
    return first === 0xff ? Number(bigint(8)) : number(first === 0xfd ? 2 : 4)
  }
  return {
    take,
    number,
    bigint,
    size,
    at: () => at,
    peek: () => bytes[at],
    since: (start: number) => bytes.subarray(start, at),
    list: <T>(read: () => T): T[] => Array.from({ length: size() }, read),
  }
}
