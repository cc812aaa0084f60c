/** The explorer: exhaustive exploration of bounded worlds made of real charts. See docs/checking.md. */
export { chartOf } from "./chart.ts";
export type { Chart } from "./chart.ts";
export { explore, reachOf, unreducedCount } from "./explore.ts";
export type { ChartReach, Exploration, ExploreOptions, Violation } from "./explore.ts";
export { ProjectionFault } from "./locals.ts";
export { checkLiveness } from "./liveness.ts";
export type { LivenessResult } from "./liveness.ts";
export { asMermaid, asRecording, asText } from "./report.ts";
export { traceTo } from "./trace.ts";
export type { TraceStep } from "./trace.ts";
export { Walker } from "./walk.ts";
export type { Walk, Way } from "./walk.ts";
export { worldDefaults } from "./world.ts";
export type {
  Action,
  CompanionFact,
  Order,
  Outcome,
  Place,
  Reaction,
  Request,
  RequestFault,
  SymmetryOf,
  World,
} from "./world.ts";
