import { fundingScript, scriptKind, taprootFundingScript } from '@penstock/bitcoin/script.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

/** The family of lnd's keys for 2-of-2 outputs (`multisig` in lnd's keychain). */
const MULTISIG_FAMILY = 0
const MAX_KEYS = 20

type DeriveKey = (
  request: { key_family: number; key_index: number },
  callback: (error: object | null, key: { raw_key_bytes: Buffer }) => void,
) => void

/** Finds the two keys of a funding output among the keys that its two nodes derive. @throws Error if no pair fits */
export async function findFundingKeys(a: LndNode, b: LndNode, script: string): Promise<readonly [string, string]> {
  const [firstKeys, secondKeys] = await Promise.all([deriveKeys(a), deriveKeys(b)])
  const pairs = firstKeys.flatMap((one) => secondKeys.map((other) => [one, other] as const))
  const scriptOf = scriptKind(script) === 'p2tr' ? taprootFundingScript : fundingScript
  const pair = pairs.find((keys) => scriptOf(...keys) === script)
  if (!pair) throw new Error(`no keys of ${a.alias} and ${b.alias} lead to ${script}`)
  return pair
}

const deriveKeys = (node: LndNode): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: MAX_KEYS }, (_, index) => deriveKey(node, index)))

function deriveKey({ lnd }: LndNode, key_index: number): Promise<string> {
  // The package `lightning` has no types for this call of lnd (walletkit.proto: DeriveKey).
  const wallet = lnd.wallet as { deriveKey: DeriveKey }
  return new Promise((resolve, reject) =>
    wallet.deriveKey({ key_family: MULTISIG_FAMILY, key_index }, (error, key) =>
      error ? reject(new Error(JSON.stringify(error))) : resolve(key.raw_key_bytes.toString('hex')),
    ),
  )
}
