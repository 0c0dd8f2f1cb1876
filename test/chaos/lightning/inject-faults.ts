import { setTimeout as sleep } from 'node:timers/promises'
import { type OrderModel, buildOrderModels } from '../../support/invariants/order-model.ts'
import type { LightningCampaignState } from './final-checks.ts'
import type { GuardedMiner } from './guarded-miner.ts'
import { type LightningFault, UNUSED_CONFIRMATIONS, type Victim } from './fault-plan.ts'
import { type KillRecord, nameVictim } from './coverage.ts'

/** A fault waits this long for a held payment. The last buyer of a round pays within this time, even on a busy machine. */
const AIM_TIMEOUT_MS = 90_000
const POLL_INTERVAL_MS = 100

/** Injects the faults one after the other. Each waits for its planned time and then until it has an effect. @returns the kills */
export async function injectLightningFaults(
  context: LightningCampaignState,
  faults: readonly LightningFault[],
): Promise<readonly KillRecord[]> {
  const startedAt = performance.now()
  const kills: KillRecord[] = []
  for (const fault of faults) {
    await sleep(Math.max(0, startedAt + fault.atMs - performance.now()))
    if (fault.kind === 'reorg') await context.miner.reorganise(fault.depth)
    else if (fault.kind === 'take back') await context.miner.runExclusively((blocks) => reorgFunding(context, blocks))
    else kills.push(await killWhileHeld(context, fault.victim))
  }
  return kills
}

/** Waits until the market holds a payment and the victim runs, or until the timeout, and kills the victim. */
async function killWhileHeld(context: LightningCampaignState, victim: Victim): Promise<KillRecord> {
  await waitUntilDue(async () => (await listHeldOrders(context)).length > 0 && findPid(context, victim) !== undefined)
  return killNow(context, victim)
}

export async function killNow(context: LightningCampaignState, victim: Victim): Promise<KillRecord> {
  const heldCount = (await listHeldOrders(context)).length
  const pid = findPid(context, victim)
  // The victim may be restarting after an earlier kill.
  if (pid === undefined) return { victim: nameVictim(victim), heldCount: 0 }
  if (victim.kind === 'lnd') await context.regtest.network.nodeByAlias(victim.alias).lnd.kill()
  else process.kill(pid, 'SIGKILL')
  return { victim: nameVictim(victim), heldCount }
}

const findPid = ({ regtest }: LightningCampaignState, { kind, alias }: Victim): number | undefined =>
  kind === 'lnd' ? regtest.network.nodeByAlias(alias).lnd.pid : regtest.processes().find(({ name }) => name === alias)?.pid

/** Mines the block that confirms a funding, waits until the market has seen the block, and removes it by a re-organisation. */
async function reorgFunding(
  context: LightningCampaignState,
  { mine, reorganise }: Pick<GuardedMiner, 'mine' | 'reorganise'>,
): Promise<void> {
  await waitUntilDue(async () => {
    for (const { status, registeredOutpoint } of await listHeldOrders(context)) {
      if (!registeredOutpoint) continue
      const confirmations = await readConfirmations(context, registeredOutpoint.outpoint)
      if (confirmations > UNUSED_CONFIRMATIONS) continue
      if (confirmations > 0 && status === 'ON_CHAIN_CONFIRMATION') {
        await reorganise(confirmations)
        return true
      }
      if (confirmations === 0 && status === 'WAITING_FOR_ON_CHAIN_CONFIRMATION') {
        await mine()
        return false
      }
    }
    return false
  })
}

export async function readConfirmations({ regtest: { network } }: LightningCampaignState, outpoint: string): Promise<number> {
  const [txid, vout] = outpoint.split(':')
  const output = await network.servers.chain.rpc<{ confirmations: number } | null>('gettxout', txid, Number(vout), false)
  return output?.confirmations ?? 0
}

/** Lists orders with a hold that is neither settled nor cancelled. */
export async function listHeldOrders({ fold }: LightningCampaignState): Promise<readonly OrderModel[]> {
  await fold.catchUp()
  return buildOrderModels(fold.events).filter(
    ({ isHeld, settlements, cancellations }) => isHeld && settlements.length + cancellations.length === 0,
  )
}

async function waitUntilDue(isDue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + AIM_TIMEOUT_MS; performance.now() < end; await sleep(POLL_INTERVAL_MS))
    if (await isDue()) return
}
