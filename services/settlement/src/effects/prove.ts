import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { must } from '@penstock/kernel/result.ts'
import { gatherEvidence } from '@penstock/ports/evidence.ts'
import type { Hold } from '../hold.ts'
import type { Settlement } from '../state.ts'
import type { Context, SettlementPorts } from './ports.ts'

/** The guard's question between two blocks, asked at once when the order wishes to settle. */
export async function prove({ hold }: Settlement, { ports }: Context): Promise<Wanted<SettlementCommand>> {
  const evidence = await evidenceOf(ports, hold)
  const height = evidence?.tipHeight ?? (await ports.chain.tip()).height
  return { type: 'Guard', data: { height, outpoint: hold.noted?.outpoint ?? null, evidence } }
}

/** What the noted outpoint shows now; null where none was noted. A probe is only worth its while before settling. */
export async function evidenceOf(ports: Pick<SettlementPorts, 'lightning' | 'chain'>, { noted, payment, status }: Hold) {
  if (!noted) return null
  must(payment, 'an outpoint is noted while a payment is held')
  const { outpoint, terms, attestation } = noted
  return gatherEvidence(ports, { outpoint, terms, attestation, fromHeight: payment.heldAtHeight, probe: status === 'held' })
}
