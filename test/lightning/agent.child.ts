import { existsSync, writeSync } from 'node:fs'
import { connectLnd, type LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { type Journal, openJournal } from '@penstock/seller-agent/journal.ts'
import type { SaleStep } from '@penstock/seller-agent/sale.ts'
import type { FundingFees, Pace } from '@penstock/seller-agent/terms.ts'
import { TERMS } from './hand-seller.ts'

/** Where a life ends: what a step stands for was done, and it was not written down yet; or it was, and nothing else. */
export type Death = { readonly step: SaleStep['type']; readonly when: 'before' | 'after' }

export type AgentPlan = {
  readonly url: string
  readonly lnd: LndAddress
  readonly journal: string
  readonly pace: Partial<Pace>
  readonly fees: Partial<FundingFees>
  readonly dies: Death | null
  /** Steps that it stands still at when they are written down, once each, until it is sent on. */
  readonly stands: readonly SaleStep['type'][]
  /** A file of this name, a dot and the step sends it on. */
  readonly sentOn: string
}

const plan = JSON.parse(process.argv[2] ?? '') as AgentPlan // as the test wrote it

function mortal(journal: Journal, { step, when }: Death): Journal {
  const die = (): boolean => process.kill(process.pid, 'SIGKILL')
  return {
    ...journal,
    record(orderId, at, now) {
      if (now.type === step && when === 'before') die()
      const sale = journal.record(orderId, at, now)
      if (now.type === step) die()
      return sale
    },
  }
}

const LOOK_MS = 10

/** From the moment that it says so nothing of this process runs, until it is sent on. */
function halting(journal: Journal, steps: readonly SaleStep['type'][]): Journal {
  const left = new Set(steps)
  const still = new Int32Array(new SharedArrayBuffer(4))
  return {
    ...journal,
    record(orderId, at, now) {
      const sale = journal.record(orderId, at, now)
      if (left.delete(now.type)) {
        writeSync(2, `stands at ${now.type}\n`)
        while (!existsSync(`${plan.sentOn}.${now.type}`)) Atomics.wait(still, 0, 0, LOOK_MS)
      }
      return sale
    },
  }
}

const journal = openJournal(plan.journal)
await runSellerAgent({
  url: plan.url,
  lightning: lndLightning(connectLnd(plan.lnd, systemClock)),
  journal: halting(plan.dies ? mortal(journal, plan.dies) : journal, plan.stands),
  terms: TERMS,
  clock: systemClock,
  ids: systemIds(),
  log: openLog('info'),
  signal: new AbortController().signal,
  pace: plan.pace,
  fees: plan.fees,
})
