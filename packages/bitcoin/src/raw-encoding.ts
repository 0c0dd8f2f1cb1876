import { concatBytes } from '@noble/hashes/utils.js'
import { bytesToHex, hash256, hexToBytes } from './hex.ts'
import type { Transaction } from './transaction.ts'

/** Reads transactions and blocks in the network encoding, which nodes return in hex. */

export type RawTransaction = Transaction & { readonly txid: string }

/** `time` is in seconds since 1970. */
export type RawBlockHeader = { readonly hash: string; readonly previousHash: string; readonly time: number }

export type RawBlock = RawBlockHeader & { readonly transactions: readonly RawTransaction[] }

const HEADER_BYTES = 80

/** @throws RangeError if the hex ends too early */
export const readTransaction = (hex: string): RawTransaction => parseTransaction(createByteReader(hexToBytes(hex)))

/** @throws RangeError if the hex ends too early */
export const readHeader = (hex: string): RawBlockHeader => parseHeader(createByteReader(hexToBytes(hex)))

/** @throws RangeError if the hex ends too early */
export function readBlock(hex: string): RawBlock {
  const from = createByteReader(hexToBytes(hex))
  return { ...parseHeader(from), transactions: from.list(() => parseTransaction(from)) }
}

function parseHeader(from: ByteReader): RawBlockHeader {
  const bytes = from.take(HEADER_BYTES)
  const time = new DataView(bytes.buffer, bytes.byteOffset).getUint32(68, true)
  return { hash: displayHash(hash256(bytes)), previousHash: displayHash(bytes.slice(4, 36)), time }
}

/** The witnesses are between the outputs and the lock time. The id does not cover them (BIP 144). */
function parseTransaction(from: ByteReader): RawTransaction {
  const version = from.take(4)
  const isSegwit = from.peek() === 0
  if (isSegwit) from.take(2)
  const start = from.at()
  const inputs = from.list(() => ({
    txid: displayHash(from.take(32).slice()),
    vout: from.number(4),
    script: bytesToHex(from.take(from.size())),
    sequence: from.number(4),
  }))
  const outputs = from.list(() => ({ valueSat: from.bigint(8), script: bytesToHex(from.take(from.size())) }))
  const body = from.since(start)
  if (isSegwit) inputs.forEach(() => from.list(() => from.take(from.size())))
  const lockTime = from.take(4)
  return { txid: displayHash(hash256(concatBytes(version, body, lockTime))), inputs, outputs }
}

/** @returns the hash in hex, in the reversed byte order in which it is displayed */
const displayHash = (bytes: Uint8Array): string => bytesToHex(bytes.reverse())

type ByteReader = ReturnType<typeof createByteReader>

function createByteReader(bytes: Uint8Array) {
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
  /** Bitcoin's integer of variable length (CompactSize). */
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
