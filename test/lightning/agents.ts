import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bake } from '@penstock/adapters/lnd/bake.ts'
import { openJournal } from '@penstock/seller-agent/journal.ts'
import type { Sale } from '@penstock/seller-agent/sale.ts'
import { killWithParent } from '@penstock/servers/parent.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { machine, scratch } from '../harness/product.ts'
import type { AgentPlan } from './agent.child.ts'
import type { Exchange } from './exchange.ts'
import { connected } from './servers.ts'

export type Agent = {
  /** Lines of its log. */
  readonly said: () => string
  /** Resolves when it is gone, with the signal that ended it. @throws Error with what it said, where it lives on for so long */
  readonly end: (withinMs: number) => Promise<string | null>
  /** Resolves when it stands still at a step that it was to stand at. */
  readonly standsAt: (step: AgentPlan['stands'][number]) => Promise<unknown>
  /** From where it stands. */
  readonly goOn: (step: AgentPlan['stands'][number]) => Promise<void>
  /** As kill -9 does. */
  readonly kill: () => Promise<void>
  /** What its journal has of an order, when it is gone. */
  readonly sale: (orderId: string) => Sale | undefined
}

/**
 * Agents of one node as processes of their own, one after the other, with one journal and a macaroon of their role.
 * @param maxUnreached tries of the buyer's node after which it gives an order up
 */
export async function agentsOf(at: Exchange, alias: string, maxUnreached: number) {
  const { pubkey, rpcSocket: socket, certFile } = at.servers.node(alias)
  const folder = scratch()
  const macaroonFile = join(folder, 'seller-agent.macaroon')
  await writeFile(macaroonFile, await bake(connected(at.servers, alias), 'seller-agent'))
  await at.product.operator('POST', '/sellers/grant', { pubkey, reason: 'A test.' })
  const usual: AgentPlan = {
    url: at.product.url,
    lnd: { socket, certFile, macaroonFile },
    journal: join(folder, 'agent.db'),
    pace: { pollMs: 200, watchMs: 500, firstRetryMs: 200, longestRetryMs: 2000, maxUnreached },
    fees: {},
    dies: null,
    stands: [],
    sentOn: '',
  }
  let lives = 0
  return (change: Partial<AgentPlan> = {}): Agent => {
    const file = new URL('agent.child.ts', import.meta.url).pathname
    const sentOn = join(folder, `sent-on.${lives++}`)
    const plan: AgentPlan = { ...usual, ...change, pace: { ...usual.pace, ...change.pace }, sentOn }
    const child = spawn(process.execPath, [file, JSON.stringify(plan)], {
      env: machine(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    killWithParent(child, 'KILL')
    let isGone = false
    const ended = once(child, 'exit').then(([, signal]) => {
      isGone = true
      return signal as string | null // as node:child_process emits it
    })
    return {
      said: () => output,
      async end(withinMs) {
        await until('the agent ends', async () => isGone, withinMs).catch((error: unknown) => {
          throw new Error(output.slice(-3000), { cause: error })
        })
        return ended
      },
      standsAt: (step) =>
        until(`the agent stands at ${step}`, async () => output.includes(`stands at ${step}\n`)).catch((error: unknown) => {
          throw new Error(output.slice(-3000), { cause: error })
        }),
      goOn: (step) => writeFile(`${sentOn}.${step}`, ''),
      async kill() {
        child.kill('SIGKILL')
        await ended
      },
      sale(orderId) {
        const journal = openJournal(usual.journal)
        const sale = journal.find(orderId)
        journal.close()
        return sale
      },
    }
  }
}
