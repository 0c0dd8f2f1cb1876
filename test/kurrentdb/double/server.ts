import { type sendUnaryData, Server, ServerCredentials, status } from '@grpc/grpc-js'
import cluster from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_grpc_pb.js'
import gossip from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_pb.js'
import features from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_grpc_pb.js'
import supported from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_pb.js'
import services from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_grpc_pb.js'
import * as appends from './appends.ts'
import { createServerNode } from './faults.ts'
import { type ServerLog, createServerLog } from './log.ts'
import { createServiceError } from './messages.ts'
import { handleRead } from './reads.ts'
import { createLogSubscriptions } from './subscriptions.ts'

type DoubleOptions = {
  /** Whether the server offers BatchAppend. Servers before 21.10 do not. */
  readonly hasBatchAppend?: boolean
  /** The log of another node, which this node follows without lag. */
  readonly log?: ServerLog
  readonly tls?: { readonly key: Buffer; readonly certificate: Buffer }
  /** The members that the gossip lists. Without this option, the node is the only member and leads. */
  readonly members?: () => readonly GossipMember[]
  readonly port?: number
}

export type GossipMember = { readonly port: number; readonly isLeader: boolean; readonly isAlive: boolean }

/**
 * Starts a test double of a KurrentDB node, with the service definitions from the client's package. It supports features,
 * gossip, Append, BatchAppend, reads, filtered subscriptions and faults.
 */
export async function startKurrentDouble({
  hasBatchAppend = true,
  log = createServerLog(),
  tls,
  members,
  port: requestedPort = 0,
}: DoubleOptions = {}) {
  const node = createServerNode(log)
  const { faults, calls } = node
  const activeSubscriptions = createLogSubscriptions(log, faults)
  let server = new Server()
  let port = requestedPort

  async function start(): Promise<void> {
    server = new Server()
    const [append, batchAppend, read] = [
      appends.handleAppend(node),
      appends.handleBatchAppend(node),
      handleRead(node, activeSubscriptions),
    ]
    server.addService(services.StreamsService, { append, batchAppend, read })
    server.addService(features.ServerFeaturesService, {
      getSupportedMethods(_: unknown, answer: sendUnaryData<InstanceType<typeof supported.SupportedMethods>>) {
        if (faults.silentCalls.has('features')) return
        if (faults.refuse) return answer(faults.refuse)
        answer(null, createSupportedMethods(hasBatchAppend))
      },
    })
    server.addService(cluster.GossipService, {
      read(_: unknown, answer: sendUnaryData<InstanceType<typeof gossip.ClusterInfo>>) {
        if (faults.silentCalls.has('gossip')) return
        answer(
          faults.isLeaderless ? createServiceError(status.UNAVAILABLE, 'no leader is elected') : null,
          createClusterInfo(members?.() ?? [{ port, isLeader: true, isAlive: true }]),
        )
      },
    })
    const credentials = tls
      ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.certificate }])
      : ServerCredentials.createInsecure()
    port = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${port}`, credentials, (error, boundPort) => (error ? reject(error) : resolve(boundPort))),
    )
  }

  await start()
  return {
    log,
    faults,
    calls,
    subscriptions: activeSubscriptions,
    url: `kurrentdb://127.0.0.1:${port}?tls=false&discoveryInterval=10`,
    endpoint: { host: '127.0.0.1', port },
    /** Starts the server again on the same port with the stored events. */
    start,
    /** Closes every connection, as the end of a killed process does. */
    stop(): void {
      activeSubscriptions.forget()
      server.forceShutdown()
    },
  }
}

/** The method names must equal those of the service definition, because the client searches for these names. */
function createSupportedMethods(hasBatchAppend: boolean) {
  const methods = ['Append', 'Read', ...(hasBatchAppend ? ['BatchAppend'] : [])].map((name) =>
    new supported.SupportedMethod().setServiceName('event_store.client.streams.Streams').setMethodName(name),
  )
  return new supported.SupportedMethods().setMethodsList(methods).setEventStoreServerVersion('26.1.0')
}

function createClusterInfo(members: readonly GossipMember[]) {
  const { MemberInfo, EndPoint, ClusterInfo } = gossip
  const { LEADER, FOLLOWER } = MemberInfo.VNodeState
  return new ClusterInfo().setMembersList(
    members.map(({ port, isLeader, isAlive }) =>
      new MemberInfo()
        .setState(isLeader ? LEADER : FOLLOWER)
        .setIsAlive(isAlive)
        .setTimeStamp('0')
        .setHttpEndPoint(new EndPoint().setAddress('127.0.0.1').setPort(port)),
    ),
  )
}
