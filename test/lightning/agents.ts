import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bakeMacaroon } from '@penstock/adapters/lnd/bake-macaroon.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import type { SaleState } from '@penstock/seller-agent/sale.ts'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { getChildEnvironment, makeTempFolder } from '../support/product.ts'
import type { AgentPlan } from './agent.child.ts'
import type { LightningEnvironment } from './environment.ts'
import { connectToNode } from './servers.ts'
import { startProgram } from '../support/processes.ts'

export type AgentProcess = {
  /** Returns the log of the process. */
  readonly getOutput: () => string
  /** Resolves when the process has ended, with its signal. @throws Error with its output after the timeout */
  readonly waitUntilEnded: (timeoutMs: number) => Promise<string | null>
  /** Resolves when the process is paused at this step of `pausesAt`. */
  readonly waitUntilPausedAt: (step: AgentPlan['pausesAt'][number]) => Promise<unknown>
  /** Resumes the process at this step. */
  readonly resume: (step: AgentPlan['pausesAt'][number]) => Promise<void>
  /** Kills the process with SIGKILL. */
  readonly kill: () => Promise<void>
  /** Reads the sale of an order from the journal. The process must have ended. */
  readonly readSale: (orderId: string) => SaleState | undefined
}

/**
 * @returns a function that starts an agent of one node in a separate process. All its agents use the same journal and macaroon.
 * @param maxUnreachable failed connections to the buyer's node after which the agent gives an order up
 */
export async function createAgentStarter(environment: LightningEnvironment, alias: string, maxUnreachable: number) {
  const { pubkey, rpcSocket: socket, certFile } = environment.servers.node(alias)
  const folder = makeTempFolder()
  const macaroonFile = join(folder, 'seller-agent.macaroon')
  await writeFile(macaroonFile, await bakeMacaroon(connectToNode(environment.servers, alias), 'seller-agent'))
  await environment.product.operator('POST', '/sellers/grant', { pubkey, reason: 'A test.' })
  const defaultPlan: AgentPlan = {
    url: environment.product.url,
    lnd: { socket, certFile, macaroonFile },
    journal: join(folder, 'agent.db'),
    pace: { pollMs: 200, watchMs: 500, firstRetryMs: 200, longestRetryMs: 2000, maxUnreachable },
    fees: {},
    crash: null,
    pausesAt: [],
    resumeFile: '',
  }
  let startCount = 0
  return (change: Partial<AgentPlan> = {}): AgentProcess => {
    const file = join(import.meta.dirname, 'agent.child.ts')
    const resumeFile = join(folder, `sent-on.${startCount++}`)
    const plan: AgentPlan = { ...defaultPlan, ...change, pace: { ...defaultPlan.pace, ...change.pace }, resumeFile }
    const { child, output } = startProgram(process.execPath, [file, JSON.stringify(plan)], {
      env: getChildEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    killWithParent(child, 'KILL')
    const throwWithOutput = (error: unknown): never => {
      throw new Error(output().slice(-3000), { cause: error })
    }
    let hasEnded = false
    const ended = once(child, 'exit').then(([, signal]) => {
      hasEnded = true
      return signal as string | null // as node:child_process emits it
    })
    return {
      getOutput: output,
      async waitUntilEnded(timeoutMs) {
        await waitForResult('the agent ends', async () => hasEnded, timeoutMs).catch(throwWithOutput)
        return ended
      },
      waitUntilPausedAt: (step) =>
        waitForResult(`the agent stands at ${step}`, async () => output().includes(`stands at ${step}\n`)).catch(throwWithOutput),
      resume: (step) => writeFile(`${resumeFile}.${step}`, ''),
      async kill() {
        child.kill('SIGKILL')
        await ended
      },
      readSale(orderId) {
        const journal = openJournal(defaultPlan.journal)
        const sale = journal.findSale(orderId)
        journal.close()
        return sale
      },
    }
  }
}
