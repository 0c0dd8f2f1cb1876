import { createServerLog } from './log.ts'
import { startKurrentDouble, type GossipMember } from './server.ts'

type ClusterNode = {
  readonly server: Awaited<ReturnType<typeof startKurrentDouble>>
  state: 'up' | 'paused' | 'ended'
  /** True if the node was the leader when it was paused. */
  hasLed: boolean
}

/**
 * Creates nodes that share a log without lag. One node leads. The other nodes report a paused node as dead. A former leader that
 * resumes after a pause exits, as a real node exits to truncate its log. Only a call of `start` restarts it.
 */
export async function createDoubleCluster(size: number) {
  const log = createServerLog()
  const nodes: ClusterNode[] = []
  let leader = 0
  const members = (): readonly GossipMember[] =>
    nodes.map(({ server, state }, index) => ({
      port: server.endpoint.port,
      isLeader: index === leader,
      isAlive: state === 'up',
    }))
  for (let n = 0; n < size; n++) nodes.push({ server: await startKurrentDouble({ log, members }), state: 'up', hasLed: false })

  const nodeAt = (index: number): ClusterNode => {
    const node = nodes[index]
    if (!node) throw new Error(`there is no node ${index}`)
    return node
  }

  /** Sets the new leader at every running node. A paused node still has the old leader. */
  function elect(index: number): void {
    leader = index
    for (const [at, { server, state }] of nodes.entries())
      if (state === 'up') server.faults.leader = at === index ? undefined : nodeAt(index).server.endpoint
  }
  elect(0)

  return {
    log,
    url: `kurrentdb://${nodes.map(({ server }) => `127.0.0.1:${server.endpoint.port}`).join(',')}?tls=false&discoveryInterval=10`,
    server: (index: number) => nodeAt(index).server,
    state: (index: number) => nodeAt(index).state,
    elect,
    /** Pauses a node as SIGSTOP does. Its connections remain open, and it answers no call. */
    pause(index: number): void {
      const node = nodeAt(index)
      node.state = 'paused'
      node.hasLed = leader === index
      node.server.subscriptions.forget()
      for (const kind of ['features', 'gossip', 'append', 'read', 'subscribe'] as const) node.server.faults.silentCalls.add(kind)
    },
    /** Resumes a node as SIGCONT does. */
    resume(index: number): void {
      const node = nodeAt(index)
      node.server.faults.silentCalls.clear()
      node.state = 'up'
      if (!node.hasLed || leader === index) return
      node.state = 'ended'
      node.server.stop()
    },
    /** Starts a node that has ended, as a supervisor does. */
    async start(index: number): Promise<void> {
      const node = nodeAt(index)
      await node.server.start()
      node.state = 'up'
      elect(leader)
    },
    stop(): void {
      for (const { server } of nodes) server.stop()
    },
  }
}
