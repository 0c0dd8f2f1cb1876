import { readFileSync } from 'node:fs'
import { rpcChain, rpcNetwork } from '@penstock/adapters/bitcoind/chain.ts'
import { type Rpc, rpcOf } from '@penstock/adapters/bitcoind/rpc.ts'
import { freshestChain } from '@penstock/adapters/blocks/freshest.ts'
import { beyondRole } from '@penstock/adapters/lnd/bake.ts'
import { lndChain } from '@penstock/adapters/lnd/chain.ts'
import { type Connection, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { allowances } from '@penstock/adapters/lnd/macaroon.ts'
import { type Role, roleOf } from '@penstock/adapters/lnd/permissions.ts'
import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import { httpRate } from '@penstock/adapters/rates/http.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'
import { followHeight, type Outside, simulated } from './outside.ts'
import { type AskNetwork, notOnAnother, onNetwork } from './same-network.ts'

const BITCOIND = 'The bitcoin node of PENSTOCK_BITCOIND_URL'
/** How many of what a macaroon allows too much are named. */
const NAMED = 5

/** What the configuration chooses. @param process decides what its macaroon may allow */
export const outsideOf = (process: string, dir: DataDir, config: Config, clock: Clock): Outside =>
  config.lightning === 'lnd' ? onLnd(roleOf(process), dir, config, clock) : simulated(dir, config, clock)

/** An lnd of the operator's. @throws ConfigError where its files cannot be used */
function onLnd(role: Role, dir: DataDir, config: Config, clock: Clock): Outside {
  const { network } = config
  const connection = connect(role, config, clock)
  const lightning = lndLightning(connection)
  const bitcoind = bitcoindOf(config)
  const blocks = lndChain(connection)
  const chain = bitcoind ? freshestChain(rpcChain(ofNetwork(network, bitcoind), clock), blocks, clock) : blocks
  const following = followHeight(chain)
  let keyring: Keyring | undefined
  return {
    network,
    lightning,
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

function connect(role: Role, { network, lndSocket: socket, lndCertFile, lndMacaroonFile }: Config, clock: Clock): Connection {
  for (const [name, file] of [
    ['PENSTOCK_LND_CERT_FILE', lndCertFile],
    ['PENSTOCK_LND_MACAROON_FILE', lndMacaroonFile],
  ] as const)
    if (file === '') throw new ConfigError(`${name} is not set: PENSTOCK_LIGHTNING=lnd needs lnd's certificate and a macaroon.`)
  const connection = connectLnd({ socket, certFile: lndCertFile, macaroonFile: lndMacaroonFile }, clock)
  if (network !== 'regtest') refuseTooMuch(role, lndMacaroonFile)
  return connection
}

/** @throws ConfigError where somebody who got hold of this process could do more than the process does */
function refuseTooMuch(role: Role, file: string): void {
  const beyond = beyondRole(allowances(readFileSync(file)), role)
  if (beyond.length === 0) return
  const more = beyond.length > NAMED ? ` and ${beyond.length - NAMED} more` : ''
  throw new ConfigError(
    `The macaroon ${file} allows what ${role} never does: ${beyond.slice(0, NAMED).join(', ')}${more}. Make one with "penstock lnd bake".`,
  )
}

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
