import { chainContract } from '@penstock/ports/chain.contract.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import { createManualTime } from './manual-time.fixture.ts'
import { openTemporaryNetwork } from './temporary-network.ts'
import type { Simnet } from './simnet.ts'

const node = (simnet: Simnet, alias: string) => ({
  lightning: simnet.lightning(alias),
  socket:
    simnet.control
      .nodes()
      .find((other) => other.alias === alias)
      ?.uri.split('@')[1] ?? '',
})

lightningContract('simulated network', async () => {
  const { clock, now, pass } = createManualTime()
  const network = openTemporaryNetwork({ clock })
  const simnet = network.simnet()
  return {
    market: node(simnet, 'market'),
    buyer: node(simnet, 'buyer'),
    seller: node(simnet, 'seller-ada'),
    chain: simnet.chain(),
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
    teardown: network.drop,
  }
})

chainContract(
  'simulated network',
  async () => {
    const { clock, now } = createManualTime()
    const network = openTemporaryNetwork({ clock })
    const { control, ...simnet } = network.simnet()
    const buyer = control.nodes().find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
    return {
      chain: simnet.chain(),
      mine: async (count) => void control.mine(count),
      send: async () => control.open('seller-ada', buyer, 1_000_000n).outpoint,
      spend: async (outpoint) => control.close(outpoint).txid,
      reorganise: async (depth) => void control.reorg(depth),
      replace: async (txid) => void control.doubleSpend(txid),
      now,
      teardown: network.drop,
    }
  },
  { reorgs: true, replacements: true },
)
