/**
 * Models of text that the oracle has no batch for (boxes on a page, where an answer begins), or that nobody else draws, against
 * PyTorch: rows of `python -m capture verify --json`.
 */
import path from "node:path";
import { agrees } from "./verified-case";

describe("models of text", () => agrees(path.join(__dirname, "texts")));
