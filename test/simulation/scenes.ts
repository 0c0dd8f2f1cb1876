import type { Random } from '@penstock/adapters/seeded/random.ts'
import { type Scene, type Tools, toolsOf } from './scene-tools.ts'
import { changesOfMind, lastMoment, lateWord, lostInFees, nobodyWatches, operatorSteps } from './scenes-channel.ts'
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
]

export function sceneOf(draws: Random): Scene {
  const tools = toolsOf(draws)
  return { purchases: [tools.purchase()], weather: [], deeds: [], ...draws.pick(SCENES)(tools) }
}
