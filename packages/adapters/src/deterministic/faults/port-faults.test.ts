import { chainContract } from '@penstock/ports/chain.contract.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { openSimnet, type Simnet } from '../../simnet/simnet.ts'
import { createManualTime } from '../../simnet/manual-time.fixture.ts'
import type { FaultPlan } from './fault-injector.ts'
import type { SimulatedProcess } from './crash-injection.ts'
import { withChainFaults, withLightningFaults } from './port-faults.ts'
import { startAutoAdvance } from '../auto-advance.ts'

let networks = 0

/**
 * Opens a simulated network, and a process that calls its nodes with injected faults. The time of the network passes only by
 * `pass`, and the time of the process by itself.
 */
function network(plan: FaultPlan) {
  const simulation = startAutoAdvance(`network ${++networks}`, plan)
  const { clock, now, pass } = createManualTime()
  const simnet = openSimnet({
    path: ':memory:',
    blockSeconds: 0,
    clock,
    random: simulation.schedule.random.fork('network').bytes,
  })
  const teardown = async (): Promise<void> => {
    await simnet.close()
    await simulation.stop()
  }
  return { simnet, now, pass, process: simulation.startProcess('market'), teardown }
}

function node(
  process: SimulatedProcess,
  simnet: Simnet,
  alias: string,
): { readonly lightning: Lightning; readonly socket: string } {
  const uri = simnet.control.nodes().find((other) => other.alias === alias)?.uri ?? ''
  return { lightning: withLightningFaults(process, simnet.lightning(alias)), socket: uri.split('@')[1] ?? '' }
}

/** Repeats and latency do not break the contract of a port. */
const plans: Readonly<Record<string, FaultPlan>> = { 'without faults': {}, 'with repeats': { watchRepeat: 0.3 } }

for (const [title, plan] of Object.entries(plans)) {
  lightningContract(`deterministic, ${title}`, async () => {
    const { simnet, now, pass, process, teardown } = network(plan)
    return {
      market: node(process, simnet, 'market'),
      buyer: node(process, simnet, 'buyer'),
      seller: node(process, simnet, 'seller-ada'),
      chain: withChainFaults(process, simnet.chain()),
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
      pass,
      now,
      teardown,
    }
  })
  chainContract(
    `deterministic, ${title}`,
    async () => {
      const { simnet, now, process, teardown } = network(plan)
      const { control } = simnet
      const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
      return {
        chain: withChainFaults(process, simnet.chain()),
        mine: async (count) => void control.mine(count),
        send: async () => control.open('seller-ada', buyer, 1_000_000n).outpoint,
        spend: async (outpoint) => control.close(outpoint).txid,
        reorganise: async (depth) => void control.reorg(depth),
        replace: async (txid) => void control.doubleSpend(txid),
        now,
        teardown,
      }
    },
    { reorgs: true, replacements: true },
  )
}
