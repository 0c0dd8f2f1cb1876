import { type LndAddress, connectLnd } from '@penstock/adapters/lnd/connection.ts'
import { lndLightning } from '@penstock/adapters/lnd/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'

/** Connects to the node of a buyer or seller on a test network. The permissions of its macaroon are not checked. */
export const connectLndNode = (address: LndAddress): Lightning => lndLightning(connectLnd(address, systemClock))
