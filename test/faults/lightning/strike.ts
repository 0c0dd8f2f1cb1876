import { setTimeout as sleep } from 'node:timers/promises'
import { type Book, booksOf } from '../books.ts'
import type { World } from './look.ts'
import type { Miner } from './miner.ts'
import { type Blow, UNUSED_CONFIRMATIONS, type Victim } from './plan.ts'
import { type Kill, whoIs } from './struck.ts'

/** By then the last buyer of a round has paid, on a busy machine too. */
const AIM_WITHIN_MS = 90_000
const LOOK_EVERY_MS = 100

/** One blow after the other, none before its time, and each when it hits something. @returns who died */
export async function strike(world: World, blows: readonly Blow[]): Promise<readonly Kill[]> {
  const begun = performance.now()
  const kills: Kill[] = []
  for (const blow of blows) {
    await sleep(Math.max(0, begun + blow.atMs - performance.now()))
    if (blow.what === 'reorg') await world.miner.reorganise(blow.depth)
    else if (blow.what === 'take back') await world.miner.alone((blocks) => takeBack(world, blocks))
    else kills.push(await kill(world, blow.whom))
  }
  return kills
}

/** While the market holds a buyer's money; where nobody pays any more, all the same. */
async function kill(world: World, whom: Victim): Promise<Kill> {
  await soon(async () => (await heldNow(world)).length > 0 && pidOf(world, whom) !== undefined)
  return killNow(world, whom)
}

export async function killNow(world: World, whom: Victim): Promise<Kill> {
  const held = (await heldNow(world)).length
  const pid = pidOf(world, whom)
  // It may be dead already.
  if (pid === undefined) return { who: whoIs(whom), held: 0 }
  if (whom.of === 'lnd') await world.regtest.network.person(whom.alias).node.kill()
  else process.kill(pid, 'SIGKILL')
  return { who: whoIs(whom), held }
}

const pidOf = ({ regtest }: World, { of, alias }: Victim): number | undefined =>
  of === 'lnd' ? regtest.network.person(alias).node.pid : regtest.processes().find(({ name }) => name === alias)?.pid

/** Makes the block that confirms a funding, waits until the market has seen it there, and takes it back. */
async function takeBack(world: World, { mine, reorganise }: Pick<Miner, 'mine' | 'reorganise'>): Promise<void> {
  await soon(async () => {
    for (const { status, noted } of await heldNow(world)) {
      if (!noted) continue
      const confirmations = await confirmationsOf(world, noted.outpoint)
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

export async function confirmationsOf({ regtest: { network } }: World, outpoint: string): Promise<number> {
  const [txid, vout] = outpoint.split(':')
  const output = await network.servers.chain.rpc<{ confirmations: number } | null>('gettxout', txid, Number(vout), false)
  return output?.confirmations ?? 0
}

/** Orders with a payment that is neither taken nor given back. */
export async function heldNow({ fold }: World): Promise<readonly Book[]> {
  await fold.catchUp()
  return booksOf(fold.events).filter(({ isHeld, settled, cancelled }) => isHeld && settled.length + cancelled.length === 0)
}

async function soon(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + AIM_WITHIN_MS; performance.now() < end; await sleep(LOOK_EVERY_MS))
    if (await isSo()) return
}
