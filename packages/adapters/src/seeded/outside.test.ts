import { chainContract } from '@penstock/ports/chain.contract.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { openSimnet, type Simnet } from '../simnet/simnet.ts'
import { skipping } from '../simnet/skipping.ts'
import type { FaultPlan } from './faults.ts'
import type { Mortal } from './mortal.ts'
import { chainFor, lightningFor } from './outside.ts'
import { running } from './running.ts'

/** A simulated network, and a process that reaches its nodes through the world. */
function network(plan: FaultPlan) {
  const world = running(plan, { realTime: true })
  const clock = skipping(world.schedule.clock)
  const simnet = openSimnet({
    path: ':memory:',
    blockSeconds: 0,
    clock,
    random: world.schedule.random.fork('network').bytes,
  })
  const teardown = async (): Promise<void> => {
    await simnet.close()
    await world.stop()
  }
  return { simnet, clock, process: world.born('market'), teardown }
}

function node(process: Mortal, simnet: Simnet, alias: string): { readonly lightning: Lightning; readonly socket: string } {
  const uri = simnet.control.nodes().find((other) => other.alias === alias)?.uri ?? ''
  return { lightning: lightningFor(process, simnet.lightning(alias)), socket: uri.split('@')[1] ?? '' }
}

/** What repeats or takes its time breaks no promise. */
const plans: Readonly<Record<string, FaultPlan>> = { calm: {}, 'with repeats': { watchRepeat: 0.3 } }

for (const [title, plan] of Object.entries(plans)) {
  lightningContract(`seeded, ${title}`, async () => {
    const { simnet, clock, process, teardown } = network(plan)
    return {
      market: node(process, simnet, 'market'),
      buyer: node(process, simnet, 'buyer'),
      seller: node(process, simnet, 'seller-ada'),
      chain: chainFor(process, simnet.chain()),
      mine: async (count) => void simnet.control.mine(count),
      reorganise: async (depth, remine) => void simnet.control.reorg(depth, { remine }),
      away: async (blocks) => {
        simnet.control.setOnline('market', false)
        simnet.control.mine(blocks)
        simnet.control.setOnline('market', true)
      },
      send: async (request, amountMsat, totalMsat) => simnet.control.pay('buyer', request, { amountMsat, totalMsat }),
      forget: async (outpoint) => simnet.control.forget(outpoint.split(':')[0] ?? ''),
      holdProbes: async (held) => simnet.control.holdProbes('buyer', held),
      openTaproot: async (sats, isPrivate) => {
        const { pubkey } = await simnet.lightning('buyer').info()
        return simnet.control.open('seller-ada', pubkey, sats, { isPrivate, isTaproot: true }).outpoint
      },
      buyerRefuses: async (refuses) => simnet.control.refuseOpenings('buyer', refuses),
      buyerAway: async (meanwhile) => {
        simnet.control.setOnline('buyer', false)
        await meanwhile()
        simnet.control.setOnline('buyer', true)
      },
      sellerAway: async (meanwhile) => {
        simnet.control.setOnline('seller-ada', false)
        await meanwhile()
        simnet.control.setOnline('seller-ada', true)
      },
      close: async (outpoint, by, how) =>
        void simnet.control.close(outpoint, { by: by === 'buyer' ? by : 'seller-ada', force: how === 'force' }),
      pass: async (ms) => clock.putForward(ms),
      teardown,
    }
  })
  chainContract(
    `seeded, ${title}`,
    async () => {
      const { simnet, process, teardown } = network(plan)
      const { control } = simnet
      const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
      return {
        chain: chainFor(process, simnet.chain()),
        mine: async (count) => void control.mine(count),
        send: async () => control.open('seller-ada', buyer, 1_000_000n).outpoint,
        spend: async (outpoint) => control.close(outpoint).txid,
        reorganise: async (depth) => void control.reorg(depth),
        replace: async (txid) => void control.doubleSpend(txid),
        teardown,
      }
    },
    { reorgs: true, replacements: true },
  )
}
