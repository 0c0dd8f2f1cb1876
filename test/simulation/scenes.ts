import type { Random } from '@penstock/adapters/seeded/random.ts'
import { type Scene, type Tools, toolsOf } from './scene-tools.ts'
import { changesOfMind, lastMoment, lateWord, lostInFees, nobodyWatches, operatorSteps } from './scenes-channel.ts'
import {
  attestedLate,
  cancellingSlowly,
  closedEarly,
  heldBack,
  invoiceAfterAll,
  lastOfIt,
  lingering,
  oneInvoiceForTwo,
  onlySeller,
  outOfSight,
  secondThoughts,
  settlingSlowly,
  tornOut,
  unpaid,
} from './scenes-races.ts'
import { approvals, latePayer, outOfBlocks, quietEnd, shutDoor, twins } from './scenes-money.ts'
import { brokenChannel, comingAndGoing, dearSeller, fullBook, lateSeller } from './scenes-sellers.ts'

const SCENES: readonly ((tools: Tools) => Scene)[] = [
  lateWord,
  changesOfMind,
  nobodyWatches,
  operatorSteps,
  lostInFees,
  lastMoment,
  outOfBlocks,
  latePayer,
  twins,
  approvals,
  shutDoor,
  quietEnd,
  lateSeller,
  fullBook,
  comingAndGoing,
  dearSeller,
  brokenChannel,
  lingering,
  secondThoughts,
  secondThoughts,
  tornOut,
  closedEarly,
  onlySeller,
  lastOfIt,
  settlingSlowly,
  cancellingSlowly,
  invoiceAfterAll,
  attestedLate,
  attestedLate,
  heldBack,
  outOfSight,
  oneInvoiceForTwo,
  unpaid,
]

export function sceneOf(draws: Random): Scene {
  const tools = toolsOf(draws)
  return { purchases: [tools.purchase()], weather: [], deeds: [], ...draws.pick(SCENES)(tools) }
}
