import { rpcChain, readRpcNetwork } from '@penstock/adapters/bitcoind/chain.ts'
import { type Rpc, createRpc } from '@penstock/adapters/bitcoind/rpc.ts'
import { createChainFailover } from '@penstock/adapters/blocks/chain-failover.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { type LndConnection, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { createTorCheck } from '@penstock/adapters/lnd/info.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { fixedRateSource } from '@penstock/adapters/rates/fixed.ts'
import { httpRateSource } from '@penstock/adapters/rates/http.ts'
import { createDnsResolver } from '@penstock/adapters/system/dns.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createPublicHostGuard, type HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { Config } from '@penstock/config/config.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'
import { type LndClient, resolveLndAccess } from './lnd-access.ts'
import { followHeight, type ExternalWorld } from './external-world.ts'
import { type NetworkQuery, rejectOtherNetwork, waitForNetwork } from '@penstock/config/network-check.ts'

const BITCOIND = 'The bitcoin node of PENSTOCK_BITCOIND_URL'

/**
 * Opens the external world of the operator's lnd node.
 * @throws ConfigError if the certificate or the macaroon cannot be used
 */
export function openLndWorld(client: LndClient, dir: DataDir, config: Config, clock: Clock): ExternalWorld {
  const { network } = config
  const connection = connectLnd(resolveLndAccess(client, config), clock)
  const hostGuard = createHostGuard(network, connection)
  const lightning = lndLightning(connection, hostGuard)
  const bitcoind = connectBitcoind(config)
  const blocks = lndChain(connection)
  const chain = bitcoind ? createChainFailover(rpcChain(guardNetwork(network, bitcoind), clock), blocks, clock) : blocks
  const heightFollower = followHeight(chain)
  let keyring: Keyring | undefined
  return {
    network,
    lightning,
    hostGuard,
    chain,
    // A fixed rate is allowed only on regtest, because its coins have no value.
    rates:
      network === 'regtest'
        ? [fixedRateSource(BigInt(config.simCentsPerBtc), clock)]
        : config.rateSources.map((source) => httpRateSource(source, clock)),
    get keyring() {
      return (keyring ??= fileKeyring(config.keyringDir || dir.path, { network, environment: 'lnd' }))
    },
    height: heightFollower.height,
    simulated: null,
    async waitUntilReady(onWaiting) {
      await waitForNetwork(network, createLndQuery(lightning), clock, onWaiting)
      if (bitcoind) await rejectOtherNetwork(network, createBitcoindQuery(bitcoind), clock, onWaiting)
    },
    close: () => heightFollower.close(),
  }
}

/** Regtest nodes have private addresses; on other networks a private address may be an attack on the internal network. */
export const createHostGuard = (network: NodeInfo['network'], connection: LndConnection): HostGuard | null =>
  network === 'regtest'
    ? null
    : createPublicHostGuard({ resolve: createDnsResolver(connection.clock), hasTor: createTorCheck(connection) })

const createLndQuery =
  (lightning: Lightning): NetworkQuery =>
  async () => {
    const { alias, network } = await lightning.info()
    return { name: `lnd ${alias}`, network }
  }

const createBitcoindQuery =
  (rpc: Rpc): NetworkQuery =>
  async () => ({ name: BITCOIND, network: await readRpcNetwork(rpc) })

/** Checks the node's network before its first other call, because the node may start later than this process. */
function guardNetwork(expected: NodeInfo['network'], rpc: Rpc): Rpc {
  let isKnown = false
  return async (method, ...params) => {
    if (!isKnown && (await readRpcNetwork(rpc)) !== expected) throw new Fault(`${BITCOIND} is not on ${expected}`)
    isKnown = true
    return rpc(method, ...params)
  }
}

function connectBitcoind({ bitcoindUrl, bitcoindPasswordFile, bitcoindCertFile }: Config): Rpc | undefined {
  if (bitcoindUrl === '') return undefined
  return createRpc({
    url: bitcoindUrl,
    ...(bitcoindPasswordFile !== '' && { passwordFile: bitcoindPasswordFile }),
    ...(bitcoindCertFile !== '' && { certFile: bitcoindCertFile }),
  })
}
