import { readFileSync } from 'node:fs'
import { rpcChain } from '@penstock/adapters/bitcoind/chain.ts'
import { rpcOf } from '@penstock/adapters/bitcoind/rpc.ts'
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
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'
import { followHeight, type Outside, simulated } from './outside.ts'

const ASK_AGAIN_MS = 1000
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
  const chain = chainOf(connection, config, clock)
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
      return (keyring ??= fileKeyring(dir.path, { network, environment: 'lnd' }))
    },
    height: following.height,
    simulated: null,
    ready: (waitsFor) => isOn(network, lightning, clock, waitsFor),
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

function chainOf(connection: Connection, { bitcoindUrl, bitcoindPasswordFile, bitcoindCertFile }: Config, clock: Clock): Chain {
  if (bitcoindUrl === '') return lndChain(connection)
  const rpc = rpcOf({
    url: bitcoindUrl,
    ...(bitcoindPasswordFile !== '' && { passwordFile: bitcoindPasswordFile }),
    ...(bitcoindCertFile !== '' && { certFile: bitcoindCertFile }),
  })
  return rpcChain(rpc, clock)
}

async function isOn(
  network: NodeInfo['network'],
  lightning: Lightning,
  clock: Clock,
  waitsFor: (reason: string) => void,
): Promise<void> {
  for (;;) {
    try {
      const info = await lightning.info()
      if (info.network === network) return
      throw new ConfigError(`lnd ${info.alias} is on ${info.network}, and PENSTOCK_NETWORK is ${network}.`)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      waitsFor(error.message)
      await clock.sleep(ASK_AGAIN_MS)
    }
  }
}
