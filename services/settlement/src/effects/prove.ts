import { REORG_BLOCKS } from '@penstock/bitcoin/channel-proof.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { must } from '@penstock/kernel/result.ts'
import { type EvidencePorts, gatherEvidence } from '@penstock/ports/evidence.ts'
import { within } from '@penstock/ports/within.ts'
import type { Hold } from '../hold.ts'
import type { Settlement } from '../state.ts'
import { isReady } from './own-node.ts'
import type { Context } from './ports.ts'

/** The chain and the node answer a look-up at once; a probe, which has a limit of its own, takes part of it. */
const EVIDENCE_TIMEOUT_MS = 20_000
const NODE_TIMEOUT_MS = 10_000

/** The guard's question between two blocks, asked at once when the order wishes to settle. */
export async function prove({ hold }: Settlement, { ports }: Context): Promise<Wanted<SettlementCommand>> {
  const lookedAt = ports.clock.now()
  const nodeReady = isReady(await within(ports.clock, NODE_TIMEOUT_MS, ports.lightning.info()))
  const evidence = await evidenceOf(ports, hold)
  const height = evidence?.tipHeight ?? (await ports.chain.tip()).height
  return { type: 'Guard', data: { height, outpoint: hold.noted?.outpoint ?? null, evidence, lookedAt, nodeReady } }
}

/**
 * What the noted outpoint shows now; null where none was noted. A probe is only worth its while before settling.
 * @throws Fault where the chain or the node does not answer in time
 */
export async function evidenceOf(ports: EvidencePorts, { noted, payment, status }: Hold) {
  if (!noted) return null
  must(payment, 'an outpoint is noted while a payment is held')
  const { outpoint, terms, attestation } = noted
  const question = { outpoint, terms, attestation, fromHeight: searchFrom(payment.heldAtHeight), probe: status === 'held' }
  return within(ports.clock, EVIDENCE_TIMEOUT_MS, gatherEvidence(ports, question))
}

/** A re-organisation may have put the funding into a block below the one at which the payment was held. */
export const searchFrom = (heldAtHeight: number): number => Math.max(0, heldAtHeight - REORG_BLOCKS)
