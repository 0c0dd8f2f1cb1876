import { rpcChain, rpcNetwork } from '@penstock/adapters/bitcoind/chain.ts'
import { type Rpc, rpcOf } from '@penstock/adapters/bitcoind/rpc.ts'
import { freshestChain } from '@penstock/adapters/blocks/freshest.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { type Connection, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { hasTorOf } from '@penstock/adapters/lnd/info.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import { httpRate } from '@penstock/adapters/rates/http.ts'
import { dnsResolver } from '@penstock/adapters/system/dns.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { hostGuard, type HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { Config } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'
import { lndAccess } from './lnd-access.ts'
import { followHeight, type Outside, simulated } from './outside.ts'
import { type AskNetwork, notOnAnother, onNetwork } from './same-network.ts'

const BITCOIND = 'The bitcoin node of PENSTOCK_BITCOIND_URL'

/** What the configuration chooses. @param process decides what its macaroon may allow */
export const outsideOf = (process: string, dir: DataDir, config: Config, clock: Clock): Outside =>
  config.lightning === 'lnd' ? onLnd(process, dir, config, clock) : simulated(dir, config, clock)

/** An lnd of the operator's. @throws ConfigError where its files cannot be used */
function onLnd(process: string, dir: DataDir, config: Config, clock: Clock): Outside {
  const { network } = config
  const connection = connectLnd(lndAccess(process, config), clock)
  const hostGuard = hostGuardOn(network, connection)
  const lightning = lndLightning(connection, hostGuard)
  const bitcoind = bitcoindOf(config)
  const blocks = lndChain(connection)
  const chain = bitcoind ? freshestChain(rpcChain(ofNetwork(network, bitcoind), clock), blocks, clock) : blocks
  const following = followHeight(chain)
  let keyring: Keyring | undefined
  return {
    network,
    lightning,
    hostGuard,
    chain,
    // A price of our own making is for play money alone.
    rates:
      network === 'regtest'
        ? [fixedRate(BigInt(config.simCentsPerBtc), clock)]
        : config.rateSources.map((source) => httpRate(source, clock)),
    get keyring() {
      return (keyring ??= fileKeyring(config.keyringDir || dir.path, { network, environment: 'lnd' }))
    },
    height: following.height,
    simulated: null,
    async ready(waitsFor) {
      await onNetwork(network, askLnd(lightning), clock, waitsFor)
      if (bitcoind) await notOnAnother(network, askBitcoind(bitcoind), clock, waitsFor)
    },
    close: () => following.close(),
  }
}

/** Nodes of regtest are on this machine or beside it; everywhere else a private address can only be a stranger's trap. */
export const hostGuardOn = (network: NodeInfo['network'], connection: Connection): HostGuard | null =>
  network === 'regtest' ? null : hostGuard({ resolve: dnsResolver(connection.clock), hasTor: hasTorOf(connection) })

const askLnd =
  (lightning: Lightning): AskNetwork =>
  async () => {
    const { alias, network } = await lightning.info()
    return { name: `lnd ${alias}`, network }
  }

const askBitcoind =
  (rpc: Rpc): AskNetwork =>
  async () => ({ name: BITCOIND, network: await rpcNetwork(rpc) })

/** Calls no node before it is known to be on that network: it may come later than we do. */
function ofNetwork(wanted: NodeInfo['network'], rpc: Rpc): Rpc {
  let isKnown = false
  return async (method, ...params) => {
    if (!isKnown && (await rpcNetwork(rpc)) !== wanted) throw new Fault(`${BITCOIND} is not on ${wanted}`)
    isKnown = true
    return rpc(method, ...params)
  }
}

function bitcoindOf({ bitcoindUrl, bitcoindPasswordFile, bitcoindCertFile }: Config): Rpc | undefined {
  if (bitcoindUrl === '') return undefined
  return rpcOf({
    url: bitcoindUrl,
    ...(bitcoindPasswordFile !== '' && { passwordFile: bitcoindPasswordFile }),
    ...(bitcoindCertFile !== '' && { certFile: bitcoindCertFile }),
  })
}
