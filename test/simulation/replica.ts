import { type InProcessGateway, createInProcessGateway } from '@penstock/gateway/in-process-gateway.fixture.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Opener, Sealer } from '@penstock/ports/vault.ts'
import type { Deliveries, DeliveryLog } from '@penstock/ports/deliveries.ts'
import type { PostWebhook } from '@penstock/ports/post-webhook.ts'
import type { Records } from '@penstock/ports/records.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { bindManifest } from '@penstock/runtime/manifest.ts'
import { bind, type BoundService, run } from '@penstock/runtime/run.ts'
import { type ServiceName, streamServices } from '@penstock/standalone/registry.ts'
import { type FlowLink, recordFlow } from '@penstock/testkit/record-flow.ts'

/** The dependencies of one process of one service. The simulation may let each call to them fail or crash the process. */
export type ReplicaDependencies = {
  readonly platform: Platform
  readonly records: Records
  readonly deliveries: Deliveries & DeliveryLog
  readonly postWebhook: PostWebhook
  readonly lightning: Lightning
  readonly chain: Chain
  readonly keyring: Keyring
  readonly rates: readonly RateSource[]
  readonly pepper: Uint8Array
  readonly vault: Sealer & Opener
  readonly onGatewayOpened: (gateway: InProcessGateway) => void
  readonly onLink: (link: FlowLink) => void
}

/** Starts one service in one simulated process. */
export async function startReplica(service: ServiceName, dependencies: ReplicaDependencies): Promise<void> {
  const { height, follow } = followHeight(dependencies.chain, dependencies.platform.clock)
  void follow()
  // The gateway serves no request before its read models have caught up.
  const ready = Promise.withResolvers<void>()
  const onGatewayOpened: ReplicaDependencies['onGatewayOpened'] = (gateway) =>
    void ready.promise.then(() => dependencies.onGatewayOpened(gateway))
  await run([bindService(service, { ...dependencies, onGatewayOpened }, height)], dependencies.platform)
  ready.resolve()
}

function bindService(name: ServiceName, dependencies: ReplicaDependencies, height: () => number | undefined): BoundService {
  const { platform, records, deliveries, postWebhook, lightning, chain, keyring, rates, pepper, vault, onGatewayOpened, onLink } =
    dependencies
  const manifest = streamServices.find((service) => service.name === name)
  if (manifest) {
    const recorded = { ...manifest, create: () => recordFlow(manifest.create(), onLink) }
    const externalWorld = () => ({ lightning, chain, keyring, rates, network: 'regtest' as const, height })
    return bindManifest(recorded, {
      externalWorld,
      facts: () => platform.store,
      records: () => records,
      deliveries: () => deliveries,
      opener: () => vault,
      sealer: () => vault,
      postWebhook: () => postWebhook,
    })
  }
  const { views, clock } = platform
  const { peers } = lightning
  const gateway = createInProcessGateway({ pepper, clock, nodeSources: { peers, chain }, onOpened: onGatewayOpened })
  return bind(recordFlow(gateway, onLink), {
    views,
    records,
    deliveryLog: deliveries,
    peers,
    hostGuard: null,
    webhookGuard: async () => ({ allowed: true, host: '127.0.0.1' }),
    sealer: vault,
    readiness: async () => undefined,
    hasSpaceForOrders: () => true,
  })
}

/** Follows the chain tips and returns the height of the newest block. */
function followHeight(chain: Chain, clock: Clock) {
  let newest: number | undefined
  return {
    height: () => newest,
    follow: async (): Promise<void> => {
      for (;;) {
        try {
          for await (const tip of chain.tips(new AbortController().signal)) newest = tip.height
        } catch {
          // The loop resubscribes after an error, as after the end of the stream.
        }
        await clock.sleep(200)
      }
    },
  }
}
