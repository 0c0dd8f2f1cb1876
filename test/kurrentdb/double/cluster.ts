import { serverLog } from './log.ts'
import { kurrentDouble, type Member } from './server.ts'

type Node = {
  readonly server: Awaited<ReturnType<typeof kurrentDouble>>
  state: 'up' | 'paused' | 'ended'
  /** Led when it was paused. */
  hasLed: boolean
}

/**
 * Nodes that share a log without any lag: one leads, and a node that is paused is dead to the others. A former leader that goes
 * on after a pause ends itself, since it has to cut its log; only a supervisor brings it back.
 */
export async function doubleCluster(size: number) {
  const log = serverLog()
  const nodes: Node[] = []
  let leader = 0
  const members = (): readonly Member[] =>
    nodes.map(({ server, state }, index) => ({
      port: server.endpoint.port,
      isLeader: index === leader,
      isAlive: state === 'up',
    }))
  for (let n = 0; n < size; n++) nodes.push({ server: await kurrentDouble({ log, members }), state: 'up', hasLed: false })

  const nodeAt = (index: number): Node => {
    const node = nodes[index]
    if (!node) throw new Error(`there is no node ${index}`)
    return node
  }

  /** Those who think that they lead: a paused one has not heard of another. */
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
    /** As SIGSTOP does: its connections stay open, and nothing is answered. */
    pause(index: number): void {
      const node = nodeAt(index)
      node.state = 'paused'
      node.hasLed = leader === index
      node.server.subscriptions.forget()
      for (const kind of ['features', 'gossip', 'append', 'read', 'subscribe'] as const) node.server.faults.silent.add(kind)
    },
    /** As SIGCONT does. */
    resume(index: number): void {
      const node = nodeAt(index)
      node.server.faults.silent.clear()
      node.state = 'up'
      if (!node.hasLed || leader === index) return
      node.state = 'ended'
      node.server.stop()
    },
    /** What a supervisor does for a node that has ended. */
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
