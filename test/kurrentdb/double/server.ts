import { type sendUnaryData, Server, ServerCredentials, status } from '@grpc/grpc-js'
import cluster from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_grpc_pb.js'
import gossip from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/gossip_pb.js'
import features from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_grpc_pb.js'
import supported from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/serverfeatures_pb.js'
import services from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_grpc_pb.js'
import * as appends from './appends.ts'
import { aNode } from './faults.ts'
import { type ServerLog, serverLog } from './log.ts'
import { failure } from './messages.ts'
import { reads } from './reads.ts'
import { subscriptions } from './subscriptions.ts'

type DoubleOptions = {
  /** Whether it offers BatchAppend; servers before 21.10 do not. */
  readonly batches?: boolean
  /** That of another node, of which this one is a follower without any lag. */
  readonly log?: ServerLog
  readonly tls?: { readonly key: Buffer; readonly certificate: Buffer }
  /** Its cluster as it gossips of it; without it, it is alone and leads. */
  readonly members?: () => readonly Member[]
  readonly port?: number
}

export type Member = { readonly port: number; readonly isLeader: boolean; readonly isAlive: boolean }

/**
 * A server that speaks the protocol of KurrentDB, made of the service definitions that the client's package ships:
 * features, gossip, Append, BatchAppend, reads and filtered subscriptions of a node, and its faults.
 */
export async function kurrentDouble({ batches = true, log = serverLog(), tls, members, port: wanted = 0 }: DoubleOptions = {}) {
  const node = aNode(log)
  const { faults, calls } = node
  const subscribed = subscriptions(log, faults)
  let server = new Server()
  let port = wanted

  async function start(): Promise<void> {
    server = new Server()
    const [append, batchAppend, read] = [appends.single(node), appends.batches(node), reads(node, subscribed)]
    server.addService(services.StreamsService, { append, batchAppend, read })
    server.addService(features.ServerFeaturesService, {
      getSupportedMethods(_: unknown, answer: sendUnaryData<InstanceType<typeof supported.SupportedMethods>>) {
        if (faults.silent.has('features')) return
        if (faults.refuse) return answer(faults.refuse)
        answer(null, offered(batches))
      },
    })
    server.addService(cluster.GossipService, {
      read(_: unknown, answer: sendUnaryData<InstanceType<typeof gossip.ClusterInfo>>) {
        if (faults.silent.has('gossip')) return
        answer(
          faults.leaderless ? failure(status.UNAVAILABLE, 'nobody is elected') : null,
          clusterInfo(members?.() ?? [{ port, isLeader: true, isAlive: true }]),
        )
      },
    })
    const credentials = tls
      ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.certificate }])
      : ServerCredentials.createInsecure()
    port = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
    )
  }

  await start()
  return {
    log,
    faults,
    calls,
    subscriptions: subscribed,
    url: `kurrentdb://127.0.0.1:${port}?tls=false&discoveryInterval=10`,
    endpoint: { host: '127.0.0.1', port },
    /** On the same port, with what is stored. */
    start,
    /** Breaks every connection off, as a killed process does. */
    stop(): void {
      subscribed.forget()
      server.forceShutdown()
    },
  }
}

/** Names of methods are those of the service definition: the client looks for them. */
function offered(batches: boolean) {
  const methods = ['Append', 'Read', ...(batches ? ['BatchAppend'] : [])].map((name) =>
    new supported.SupportedMethod().setServiceName('event_store.client.streams.Streams').setMethodName(name),
  )
  return new supported.SupportedMethods().setMethodsList(methods).setEventStoreServerVersion('26.1.0')
}

function clusterInfo(members: readonly Member[]) {
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
