import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deriveDecisionKey, proveDecision } from '@penstock/config/decision-proof.ts'

type Decision = { readonly to: string; readonly by: string; readonly reason: string }

/** Adds the operator's proof to a decision, by the keyring in the market's data folder. */
export function withDecisionProof<T extends Decision>(dataDir: string, orderId: string, decision: T): T & { proof: string } {
  const { current, keys } = JSON.parse(readFileSync(join(dataDir, 'keyring.json'), 'utf8')) as {
    readonly current: string
    readonly keys: Readonly<Record<string, string>>
  } // the format of the keyring
  const { to, by, reason } = decision
  return { ...decision, proof: proveDecision(deriveDecisionKey(keys[current] ?? ''), { orderId, to, by, reason }) }
}
