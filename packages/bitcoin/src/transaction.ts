import { bytesToHex, hash256, hexToBytes } from './hex.ts'

export type TransactionInput = {
  readonly txid: string
  readonly vout: number
  /** The default is final (0xffffffff). */
  readonly sequence?: number
  /** Signature script in hex. Here only a coinbase transaction has a signature script. */
  readonly script?: string
}
export type TransactionOutput = { readonly valueSat: bigint; readonly script: string }

/** A segwit transaction without its witnesses, which its id does not cover. */
export type Transaction = { readonly inputs: readonly TransactionInput[]; readonly outputs: readonly TransactionOutput[] }

/** Serialises a transaction without its witnesses, the form that the id covers. @returns hex */
export const serialiseTransaction = ({ inputs, outputs }: Transaction): string =>
  [
    '02000000',
    compactSize(inputs.length),
    ...inputs.map(
      ({ txid, vout, sequence = 0xffff_ffff, script = '' }) =>
        reverseHex(txid) +
        littleEndian(BigInt(vout), 4) +
        compactSize(script.length / 2) +
        script +
        littleEndian(BigInt(sequence), 4),
    ),
    compactSize(outputs.length),
    ...outputs.map(({ valueSat, script }) => littleEndian(valueSat, 8) + compactSize(script.length / 2) + script),
    '00000000',
  ].join('')

export const transactionId = (transaction: Transaction): string => displayHash(serialiseTransaction(transaction))

/** Computes a block's hash from its header (80 bytes). `time` is in seconds. */
export const blockHash = (header: { previousHash: string; merkleRoot: string; time: number; nonce: number }): string =>
  displayHash(
    [
      '00000020',
      reverseHex(header.previousHash),
      reverseHex(header.merkleRoot),
      littleEndian(BigInt(header.time), 4),
      'ffff7f20',
      littleEndian(BigInt(header.nonce), 4),
    ].join(''),
  )

/** The Merkle root of a block's transaction ids. A level with an odd number of hashes repeats the last one. */
export function merkleRoot(txids: readonly string[]): string {
  let level = txids.map(reverseHex)
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, index) => [
      level[2 * index],
      level[2 * index + 1] ?? level[2 * index],
    ])
    level = pairs.map((pair) => bytesToHex(hash256(hexToBytes(pair.join('')))))
  }
  return reverseHex(level[0] ?? '00'.repeat(32))
}

/** Virtual size of a transaction that spends wallet outputs (P2WPKH). @returns virtual bytes, rounded up */
export const virtualSize = (inputCount: number, outputs: readonly TransactionOutput[]): number =>
  11 + 68 * inputCount + outputs.reduce((sum, { script }) => sum + 9 + script.length / 2, 0)

const displayHash = (hex: string): string => reverseHex(bytesToHex(hash256(hexToBytes(hex))))

const reverseHex = (hex: string): string => bytesToHex(hexToBytes(hex).reverse())

const littleEndian = (value: bigint, bytes: number): string => reverseHex(value.toString(16).padStart(2 * bytes, '0'))

function compactSize(count: number): string {
  if (count < 0xfd) return littleEndian(BigInt(count), 1)
  return count <= 0xffff ? `fd${littleEndian(BigInt(count), 2)}` : `fe${littleEndian(BigInt(count), 4)}`
}
