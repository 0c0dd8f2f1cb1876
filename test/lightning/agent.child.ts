import { existsSync, writeSync } from 'node:fs'
import { connectLnd, type LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { type Journal, openJournal } from '@penstock/seller-agent/journal.ts'
import type { SaleStep } from '@penstock/seller-agent/sale.ts'
import type { FundingFeeSettings, AgentTimings } from '@penstock/seller-agent/terms.ts'
import { MANUAL_SELLER_TERMS } from './manual-seller.ts'

/** Kills the agent at a step, either right before or right after the journal records the step. */
export type CrashPlan = { readonly step: SaleStep['type']; readonly moment: 'before' | 'after' }

export type AgentPlan = {
  readonly url: string
  readonly lnd: LndAddress
  readonly journal: string
  readonly pace: Partial<AgentTimings>
  readonly fees: Partial<FundingFeeSettings>
  readonly crash: CrashPlan | null
  /** Steps at which the agent pauses, after the journal first recorded the step, until the test resumes the agent. */
  readonly pausesAt: readonly SaleStep['type'][]
  /** The file `<resumeFile>.<step>` resumes the agent. */
  readonly resumeFile: string
}

const plan = JSON.parse(process.argv[2] ?? '') as AgentPlan // from agents.ts

function withCrash(journal: Journal, { step, moment }: CrashPlan): Journal {
  const kill = (): boolean => process.kill(process.pid, 'SIGKILL')
  return {
    ...journal,
    record(orderId, at, saleStep) {
      if (saleStep.type === step && moment === 'before') kill()
      const sale = journal.record(orderId, at, saleStep)
      if (saleStep.type === step) kill()
      return sale
    },
  }
}

const POLL_MS = 10

/** Prints `stands at <step>`, and blocks the whole process until the resume file of the step exists. */
function withPauses(journal: Journal, steps: readonly SaleStep['type'][]): Journal {
  const pendingSteps = new Set(steps)
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  return {
    ...journal,
    record(orderId, at, saleStep) {
      const sale = journal.record(orderId, at, saleStep)
      if (pendingSteps.delete(saleStep.type)) {
        writeSync(2, `stands at ${saleStep.type}\n`)
        while (!existsSync(`${plan.resumeFile}.${saleStep.type}`)) Atomics.wait(sleeper, 0, 0, POLL_MS)
      }
      return sale
    },
  }
}

const journal = openJournal(plan.journal)
await runSellerAgent({
  url: plan.url,
  lightning: lndLightning(connectLnd(plan.lnd, systemClock)),
  journal: withPauses(plan.crash ? withCrash(journal, plan.crash) : journal, plan.pausesAt),
  terms: MANUAL_SELLER_TERMS,
  clock: systemClock,
  ids: systemIds(),
  log: openLogger('info'),
  signal: new AbortController().signal,
  timings: plan.pace,
  fees: plan.fees,
})
