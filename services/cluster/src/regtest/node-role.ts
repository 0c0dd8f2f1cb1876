import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

export type NodeRole = 'market' | 'seller' | 'buyer'

/** A node of the network and its role. */
export type RegtestNode = {
  readonly alias: string
  readonly role: NodeRole
  readonly lnd: LndNode
  readonly lightning: Lightning
  readonly info: NodeInfo
}
