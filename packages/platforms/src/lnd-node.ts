import { type LndAddress, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'

/** A node by its address alone, with what its macaroon allows: for those who play the other people of a test network. */
export const lndNode = (address: LndAddress): Lightning => lndLightning(connectLnd(address, systemClock))
