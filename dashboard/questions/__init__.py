"""Questions to the record in sentences, and their answers, each linked to the event it rests on."""
