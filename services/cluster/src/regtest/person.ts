import type { Lightning, NodeInfo } from '@penstock/ports/lightning.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

export type Role = 'market' | 'seller' | 'buyer'

/** Somebody with a node of its own. */
export type Person = {
  readonly alias: string
  readonly role: Role
  readonly node: LndNode
  readonly lightning: Lightning
  readonly info: NodeInfo
}
